"""The one tokenizer: queries, entries and vocabularies all go through it.

NFKC first, then runs of Unicode letters, numbers and underscores, then lower case for each run by itself.
Combining marks that NFKC leaves split a word; that is the specification's rule.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# In Python `\w` is exactly L, N and `_`; a test holds it to that for every character.
_WORD = re.compile(r"\w+")
# Of single words that are no ASCII: few differ within a session, and their case rules are slow.
_MEMORY: Final = 65_536

# For bytes of UTF-8: ASCII that is no word becomes a space, capitals become small, the rest stays.
_LOWERED: Final = bytes(
    ord(chr(code).lower())
    if code < 0x80 and (chr(code).isalnum() or code == ord("_"))
    else code
    if code >= 0x80
    else ord(" ")
    for code in range(256)
)


def tokenize(text: str) -> list[str]:
    """The words of `text` in order of appearance; one that comes twice is there twice."""
    if text.isascii():
        return text.encode().translate(_LOWERED).decode().split()
    return [word.lower() for word in _WORD.findall(unicodedata.normalize("NFKC", text))]


def byte_tokens(text: str) -> list[bytes]:
    """As `tokenize`, each word in UTF-8: many times faster for long texts that are mostly ASCII."""
    if text.isascii():
        return text.encode().translate(_LOWERED).split()
    pieces = unicodedata.normalize("NFKC", text).encode().translate(_LOWERED).split()
    words: list[bytes] = []
    for piece in pieces:
        if piece.isascii():
            words.append(piece)
        else:
            words.extend(_words_of(piece))
    return words


@lru_cache(maxsize=_MEMORY)
def _words_of(piece: bytes) -> tuple[bytes, ...]:
    """The words of a piece that holds no ASCII but word characters, which are lower case already."""
    return tuple(word.lower().encode() for word in _WORD.findall(piece.decode()))
