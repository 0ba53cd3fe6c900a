"""JSON as JavaScript reads and writes it.

Decoding never loses a record: what the strict decoder refuses (lone surrogates, bad UTF-8, 1e999) goes
through a lenient one. Encoding and `stringify` follow `JSON.stringify`.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, Final, TypeAlias, TypeGuard

import msgspec

Json: TypeAlias = Any
"""Any JSON value; narrowed at the three validating edges (config, RPC, provider arguments)."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object in insertion order."""


class Undefined(Enum):
    """JavaScript's `undefined`, which JSON cannot say."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""Beyond it a JavaScript number no longer tells one integer from the next."""

_Pieces: TypeAlias = "str | Iterator[_Pieces]"

_SURROGATE = re.compile("[\ud800-\udfff]")
# Of 2 ** 32 - 2, the largest array index.
_INDEX_DIGITS = 10
# A longer one is beyond every float, and Python refuses to read thousands of digits.
_MAX_INTEGER_CHARS = 400
# Below this Python turns to exponents where JavaScript does not yet.
_PLAIN_FLOAT_MIN = 1e-4
# What JavaScript may write otherwise: a number with a point or an exponent, a long one, an object's key that
# is an index. Texts may look like it, and are then looked at more closely.
_MAY_DIFFER = re.compile(rb'(?:^|[\[,:])-?\d+(?:[.eE]|\d{15})|[{,]"\d')
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


class TooDeep(ValueError):
    """A JSON text nests deeper than can be decoded, about 1,000 levels."""

    def __init__(self) -> None:
        super().__init__("it nests too deeply")


def decode(data: bytes | bytearray | memoryview) -> Json:
    """Decode one JSON text; lone surrogates and bad bytes become U+FFFD.

    Raises:
        ValueError: If `data` is not JSON even leniently; TooDeep if it nests deeper than can be decoded.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_leniently(data)
    except RecursionError:
        raise TooDeep from None


def _decode_leniently(data: bytes | bytearray | memoryview) -> Json:
    try:
        return scrub(json.loads(bytes(data).decode("utf-8", "replace"), parse_int=_read_integer))
    except RecursionError:
        raise TooDeep from None


def _read_integer(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_INTEGER_CHARS else float(digits)


def encode(value: Json) -> bytes:
    """Encode compactly in UTF-8; lone surrogates become U+FFFD and non-finite numbers null.

    Raises:
        TypeError: If `value` holds something that is not JSON.
    """
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _encoder.encode(scrub(value))


def is_object(value: object) -> TypeGuard[JsonObject]:
    """True when a decoded JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Json]]:
    """True when a decoded JSON value is an array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """True when a decoded JSON value is a number; for Python a boolean is one as well."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite_number(value: object) -> TypeGuard[int | float]:
    """True for a number that JavaScript can hold: no boolean, not endless, of any number of digits."""
    return is_number(value) and abs(value) <= sys.float_info.max


def is_truthy(value: Json) -> bool:
    """What JavaScript takes for true; of JSON values that is every list and object too."""
    return bool(value) or is_object(value) or is_array(value)


def object_or_empty(value: Json) -> JsonObject:
    """`value` when it is an object, else an empty one."""
    return value if is_object(value) else {}


def array_or_empty(value: Json) -> list[Json]:
    """`value` when it is an array, else an empty one."""
    return value if is_array(value) else []


def text_or_empty(value: Json) -> str:
    """`value` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def scrub(value: Json) -> Json:
    """Return `value` with each lone surrogate replaced by U+FFFD, keys included."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if is_object(value):
        return {scrub(key): scrub(item) for key, item in value.items()}
    if is_array(value):
        return [scrub(item) for item in value]
    return value


def utf16_length(text: str) -> int:
    """Length in UTF-16 units, which is what JavaScript calls a string's length."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def stringify(value: Json, *, indent: int = 0) -> str:
    """Write `value` as `JSON.stringify(value, null, indent)` does.

    Integer-like keys come first in ascending order, numbers print as JavaScript prints them, lone
    surrogates are escaped. Shapes: dict, list, tuple, str, bool, int, float, None.
    """
    if not indent:
        # What is nested deeper than the fast encoder goes, or holds lone surrogates, is written below.
        with suppress(RecursionError, UnicodeEncodeError, OverflowError):
            data = _encoder.encode(value)
            if _MAY_DIFFER.search(data) is None or _is_plain(value):
                return data.decode()
    return "".join(_flattened(_pieces(value, " " * indent, "\n" if indent else "")))


def format_number(value: float) -> str:
    """Print a number as JavaScript's `String(value)` does, `-0` as `0`."""
    if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER:
        return str(value)
    if not is_finite_number(value):
        return "null"
    number = float(value)
    if number == 0:
        return "0"
    digits, exponent = _shortest_digits(abs(number))
    sign = "-" if number < 0 else ""
    return sign + _place_point(digits, exponent)


def ordered_keys(value: Mapping[str, Json]) -> list[str]:
    """Keys in JavaScript's order: array indices ascending, then the rest as inserted."""
    indices = [key for key in value if _is_array_index(key)]
    if not indices:
        return list(value)
    rest = [key for key in value if not _is_array_index(key)]
    return sorted(indices, key=int) + rest


def _is_array_index(key: str) -> bool:
    # The length first: Python refuses to read thousands of digits.
    if len(key) > _INDEX_DIGITS or not key.isascii() or not key.isdigit() or (key[0] == "0" and key != "0"):
        return False
    return int(key) < 2**32 - 1


def _shortest_digits(number: float) -> tuple[str, int]:
    """Shortest round-trip digits and n, where the value is 0.digits times 10 to the n."""
    mantissa, _, exponent = f"{number!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    point = len(whole) - leading_zeros + (int(exponent) if exponent else 0)
    return digits.rstrip("0"), point


def _place_point(digits: str, point: int) -> str:
    # The four layouts of ECMAScript's Number::toString.
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    power = point - 1
    head = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{head}e{'+' if power > 0 else '-'}{abs(power)}"


def _is_plain(value: Json) -> bool:
    """True when Python writes `value` as JavaScript does, so that the fast encoder may."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) or item is None or item is True or item is False:
            continue
        if isinstance(item, int):
            if not -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
                return False
        elif isinstance(item, float):
            if item.is_integer() or not _PLAIN_FLOAT_MIN <= abs(item) < MAX_SAFE_INTEGER:
                return False
        elif is_object(item):
            for key in item:
                # An array index may have to move to the front.
                if "0" <= key[:1] <= "9":
                    return False
            pending.extend(item.values())
        else:
            pending.extend(item)
    return True


def _quote(text: str) -> str:
    return _escape_surrogates(json.dumps(text, ensure_ascii=False))


def _escape_surrogates(quoted: str) -> str:
    if quoted.isascii():
        return quoted
    return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)


def _flattened(first: _Pieces) -> Iterator[str]:
    # A stack and no recursion: values nest deeper than Python's calls may.
    stack: list[Iterator[_Pieces]] = [iter([first])]
    while stack:
        for piece in stack[-1]:
            if not isinstance(piece, str):
                stack.append(piece)
                break
            yield piece
        else:
            stack.pop()


def _pieces(value: Json, indent: str, newline: str) -> _Pieces:
    if isinstance(value, str):
        return _quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return format_number(value)
    if is_object(value):
        return _object_pieces(value, indent, newline) if value else "{}"
    return _array_pieces(value, indent, newline) if value else "[]"


def _object_pieces(value: Mapping[str, Json], indent: str, newline: str) -> Iterator[_Pieces]:
    inner = newline + indent
    opener = "{" + inner
    for key in ordered_keys(value):
        yield opener + _quote(key) + (": " if newline else ":")
        yield _pieces(value[key], indent, inner if newline else "")
        opener = "," + inner
    yield newline + "}"


def _array_pieces(value: Sequence[Json], indent: str, newline: str) -> Iterator[_Pieces]:
    inner = newline + indent
    opener = "[" + inner
    for item in value:
        yield opener
        yield _pieces(item, indent, inner if newline else "")
        opener = "," + inner
    yield newline + "]"
