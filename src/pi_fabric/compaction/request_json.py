"""JSON for typed requests: stricter than any decoder at hand, and bounded while it reads.

What a general decoder lets pass is refused here: a name given twice (however it is escaped), half a
surrogate pair, a number without an end, and more nesting or values than a request can need.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.compaction.request import RequestRefused, has_lone_surrogate

# Bounds of the protocol: the root has depth 0, and every value counts as a node, names do not.
MAX_DEPTH: Final = 32
MAX_NODES: Final = 4096

_BLANKS = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES: Final = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_WORDS: Final[tuple[tuple[str, Json], ...]] = (("true", True), ("false", False), ("null", None))


def parse_request_json(text: str) -> Json:
    """Read `text` as one JSON value; every number is a float.

    Raises:
        RequestRefused: For the first fault from the left: malformed-json, duplicate-field,
            invalid-unicode or structure-too-complex.
    """
    reader = _Reader(text=text)
    value = reader.value(0)
    reader.blanks()
    if reader.at < len(text):
        raise RequestRefused("malformed-json")
    return value


@dataclass(slots=True, kw_only=True)
class _Reader:
    text: str
    at: int = 0
    nodes: int = 0

    def value(self, depth: int) -> Json:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise RequestRefused("structure-too-complex")
        self.blanks()
        if self.takes("{"):
            return self.members(depth)
        if self.takes("["):
            return self.items(depth)
        if self.takes('"'):
            return self.string()
        return self.word_or_number()

    def members(self, depth: int) -> JsonObject:
        found: JsonObject = {}
        self.blanks()
        if self.takes("}"):
            return found
        while True:
            self.blanks()
            self.expect('"')
            name = self.string()
            if name in found:
                raise RequestRefused("duplicate-field")
            self.blanks()
            self.expect(":")
            found[name] = self.value(depth + 1)
            self.blanks()
            if self.takes("}"):
                return found
            self.expect(",")

    def items(self, depth: int) -> list[Json]:
        found: list[Json] = []
        self.blanks()
        if self.takes("]"):
            return found
        while True:
            found.append(self.value(depth + 1))
            self.blanks()
            if self.takes("]"):
                return found
            self.expect(",")

    def string(self) -> str:
        pieces: list[str] = []
        while True:
            pieces.append(self.match(_PLAIN))
            if self.takes('"'):
                return _paired("".join(pieces))
            self.expect("\\")
            pieces.append(self.escaped())

    def escaped(self) -> str:
        if self.takes("u"):
            return chr(int(self.match(_HEX), 16))
        letter = self.text[self.at : self.at + 1]
        if letter not in _ESCAPES:
            raise RequestRefused("malformed-json")
        self.at += 1
        return _ESCAPES[letter]

    def word_or_number(self) -> Json:
        for word, value in _WORDS:
            if self.takes(word):
                return value
        number = float(self.match(_NUMBER))
        if not math.isfinite(number):
            raise RequestRefused("malformed-json")
        return number

    def blanks(self) -> None:
        self.match(_BLANKS)

    def match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise RequestRefused("malformed-json")
        self.at = found.end()
        return found.group()

    def takes(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def expect(self, token: str) -> None:
        if not self.takes(token):
            raise RequestRefused("malformed-json")


def _paired(text: str) -> str:
    """`text` with the halves that escapes wrote joined to characters."""
    if has_lone_surrogate(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if has_lone_surrogate(text):
            raise RequestRefused("invalid-unicode")
    return text
