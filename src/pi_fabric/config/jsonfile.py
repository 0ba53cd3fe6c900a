"""Reading a JSON file that a person edits: whatever is there, the answer is a value or a clear reason.

The reader never raises for content, never waits (a pipe is not opened) and never reads more than the
bound. What it repaired on the way in it says, and what it could not read exactly it will not rewrite.
"""

import codecs
import json
import math
import re
import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pi_fabric.base.errors import ConfigError
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object, scrub

FileState = Literal["absent", "read", "unusable"]
# The largest honest file is some kilobytes; a mistaken download is not worth the time.
MAX_FILE_BYTES = 1024 * 1024
# Deeper than any configuration; keeps every later walk within Python's stack.
MAX_DEPTH = 64
# How many repeated names are listed.
MAX_LISTED = 5
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity')
# What the standard decoder says, as people who edit the file would say it.
_REASONS = (
    ("Expecting value", "a value is expected here"),
    ("Expecting property name", "a key in double quotes is expected here"),
    ("Expecting ':'", "a colon is expected here"),
    ("Expecting ','", "a comma or the closing bracket is expected here"),
    ("Illegal trailing comma", "there is a comma after the last item"),
    ("Unterminated string", "the string that begins here has no end"),
    ("Invalid control character", "a string holds a line break or control character"),
    ("Invalid \\", "the backslash begins no known escape"),
    ("Extra data", "something follows after the closing bracket"),
)
# An integer of more digits than the largest double is that double's infinity; int() refuses 4,301.
_MAX_INTEGER_DIGITS = 310


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFile:
    """What one file holds."""

    path: Path
    state: FileState
    value: JsonObject = field(default_factory=dict[str, Json])
    """The object; empty unless the state is `read`."""
    text: str = ""
    """As decoded, without a byte order mark."""
    problem: str = ""
    """Why it is unusable."""
    repairs: tuple[str, ...] = ()
    """What was read differently from how it is written."""
    is_exact: bool = True
    """False when the file's bytes cannot be written again as they are."""

    def to_rewrite(self) -> JsonObject:
        """The object to change and write back; empty for a file that is not there.

        Raises:
            ConfigError: If writing it would lose something.
        """
        trouble = self.problem if self.state == "unusable" else "" if self.is_exact else self.repairs[0]
        if trouble:
            raise ConfigError(self.path, f"{trouble}; mend it first, it was left as it is")
        return self.value


class _UnusableError(ValueError):
    """The file cannot be taken; the message continues a sentence that begins with its path."""


def read_json_object(path: Path) -> JsonFile:
    """Read a file that must hold one JSON object. Blocking; never raises for what is there."""
    try:
        data = _read_bounded(path)
    except (FileNotFoundError, NotADirectoryError):
        return JsonFile(path=path, state="absent")
    except OSError as error:
        return JsonFile(path=path, state="unusable", problem=f"cannot be read: {error.strerror or error}")
    except _UnusableError as error:
        return JsonFile(path=path, state="unusable", problem=str(error))
    return _parse(path, data)


def _read_bounded(path: Path) -> bytes:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise _UnusableError("is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise _UnusableError("is not an ordinary file")
    with path.open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise _UnusableError(f"is larger than {MAX_FILE_BYTES // 1024:,} KiB")
    return data


def _parse(path: Path, data: bytes) -> JsonFile:
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    parser = _Parser()
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise _UnusableError("is not UTF-8 but UTF-16; save it as UTF-8")
        raw = parser.parse(text)
    except _UnusableError as error:
        return JsonFile(path=path, state="unusable", text=text, problem=str(error))
    value = scrub(raw)
    losses = {
        "holds bytes that are not UTF-8; each was read as U+FFFD": text.encode() not in data,
        "holds half of a surrogate pair, which was read as U+FFFD": value != raw,
        "holds a number too large for JavaScript, which counts as infinite": parser.has_overflow,
    }
    repairs = [repair for repair, is_true in losses.items() if is_true]
    is_exact = not repairs
    if data.startswith(codecs.BOM_UTF8):
        repairs.append("begins with a byte order mark, which was skipped")
    if parser.repeated:
        repairs.append(f"names {_listed(parser.repeated)} more than once; the last one counts")
    return JsonFile(
        path=path, state="read", value=value, text=text, repairs=tuple(repairs), is_exact=is_exact
    )


class _Parser:
    """One pass of the standard decoder that also notices what a person should know."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self.has_overflow = False

    def parse(self, text: str) -> JsonObject:
        try:
            value = json.loads(
                text,
                object_pairs_hook=self._collect,
                parse_constant=self._refuse,
                parse_int=self._integer,
                parse_float=self._float,
            )
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise _UnusableError(f"is not JSON: {where}: {_reason(error, text)}") from None
        except RecursionError:
            raise _too_deep() from None
        except _ConstantError as error:
            raise _UnusableError(
                f"is not JSON: {_place(text, error.name)}: {error.name} is no number"
            ) from None
        if not is_object(value):
            raise _UnusableError("holds JSON that is not an object")
        if _depth_exceeds(value, MAX_DEPTH):
            raise _too_deep()
        return value

    def _collect(self, pairs: list[tuple[str, Json]]) -> JsonObject:
        collected = dict(pairs)
        if len(collected) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated += [name for name, count in counts.items() if count > 1]
        return collected

    def _refuse(self, name: str) -> Json:
        raise _ConstantError(name)

    def _integer(self, digits: str) -> int | float:
        return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else self._float(digits)

    def _float(self, digits: str) -> float:
        number = float(digits)
        self.has_overflow = self.has_overflow or math.isinf(number)
        return number


class _ConstantError(ValueError):
    """Python's decoder met a word that it takes for a number and JSON does not."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _reason(error: json.JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "the file is empty"
    if error.pos >= len(text):
        return "the text ends too early"
    return next((ours for theirs, ours in _REASONS if error.msg.startswith(theirs)), error.msg.lower())


def _place(text: str, literal: str) -> str:
    found = next((match for match in _TOKEN.finditer(text) if match.group() == literal), None)
    before = text[: found.start()] if found else ""
    line = before.count("\n") + 1
    return f"line {line}, column {len(before) - before.rfind(chr(10))}"


def _too_deep() -> ValueError:
    return _UnusableError(f"is nested deeper than {MAX_DEPTH} levels")


def _depth_exceeds(value: Json, limit: int) -> bool:
    level: list[Json] = [value]
    for _ in range(limit):
        level = [inner for item in level for inner in _children(item)]
        if not level:
            return False
    return True


def _children(value: Json) -> Iterable[Json]:
    if is_object(value):
        return value.values()
    return value if is_array(value) else ()


def _listed(names: list[str]) -> str:
    shown = [json.dumps(name[:40]) for name in dict.fromkeys(names)]
    more = f" and {len(shown) - MAX_LISTED} more" if len(shown) > MAX_LISTED else ""
    return ", ".join(shown[:MAX_LISTED]) + more
