"""More ways to find a word: parts of identifiers, whole compounds, and runs of CJK by pairs.

These terms are a list of their own beside the vocabulary and never in it: literal recall stays exactly the
specification's. A text and a query go through the same rules.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from pi_fabric.memory.tokenizer import tokenize

# A longer word is data, not a name; its parts would fill the list.
MAX_WORD_CHARS: Final = 128
_MEMORY: Final = 65_536

# Scripts that are written without spaces: Han, Hiragana, Katakana, Hangul, and their extensions.
_CJK_RUN: Final = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_WORD: Final = re.compile(r"\w+")
# Where the parts of a name meet: `_`, a capital after a small letter, the last capital before a small one.
_BETWEEN_PARTS: Final = re.compile(r"_+|(?<=[^\W_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^\W\dA-Z_])")
_ENDS_IN_SYMBOL: Final = re.compile(r"\w(?:\+\+|#)\Z")
_WORD_OR_SYMBOL: Final = re.compile(r"\w+(?:(?:\+\+|#)(?!\w))?")
_CJK_OR_OTHER: Final = re.compile(rf"({_CJK_RUN.pattern})|((?:(?!{_CJK_RUN.pattern})\w)+)")
_JOINERS: Final = ".-"

# For bytes of UTF-8: what can be within a compound stays, every other ASCII becomes a space.
_CHUNKS: Final = bytes(
    code if code >= 0x80 or chr(code).isalnum() or chr(code) in "_.-+#" else ord(" ") for code in range(256)
)
# What stands between spaces and has anything but small letters and digits; in one pass without going back.
_WITH_PARTS: Final = re.compile(rb"(?<![^ ])[a-z0-9]*+[^a-z0-9 ][^ ]*")


def chunks(text: str) -> list[bytes]:
    """The pieces of a text that folded terms are made of, in UTF-8, with their capitals.

    Most words have nothing but small letters and digits: they have no parts and are left out.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _WITH_PARTS.findall(plain.encode().translate(_CHUNKS))


@lru_cache(maxsize=_MEMORY)
def folded_terms(chunk: bytes) -> frozenset[bytes]:
    """What the second list holds of one chunk."""
    text = chunk.decode()
    terms = set(_compound(text))
    for word in _WORD.findall(text):
        if len(word) <= MAX_WORD_CHARS:
            terms.update(_parts(word))
            if "_" in word:
                # As who writes the name in camel case, and asks for it in small letters.
                terms.add(word.replace("_", "").lower())
        if not word.isascii():
            terms.update(pair for run in _CJK_RUN.findall(word) for pair in _pairs(run))
    return frozenset(term.encode() for term in terms)


def alternatives(word: str) -> list[tuple[str, ...]]:
    """What a word of a query stands for: each a set of terms that all must be there.

    The word itself comes first, unless its symbols are what is looked for: who types C++ does not mean every
    `c`. A term that ends in `*` stands for every term that begins with what is before it.
    """
    plain = unicodedata.normalize("NFKC", word)
    compound = tuple(_compound(plain))
    if compound and _ENDS_IN_SYMBOL.search(plain):
        return [compound]
    names = _WORD.findall(plain)
    parts = tuple(part for name in names for part in tuple(_parts(name)) or (name.lower(),))
    pairs = tuple(pair for run in _CJK_RUN.findall(plain) for pair in _query_pairs(run))
    others = tuple(tokenize(_CJK_RUN.sub(" ", plain)))
    found = (tuple(tokenize(word)), compound, parts, (*pairs, *others) if pairs else ())
    return list(dict.fromkeys(tuple(dict.fromkeys(terms)) for terms in found if terms))


def smallest_parts(text: str) -> Iterator[str]:
    """A text word by word, names by their parts and CJK by its characters, in order: what a phrase is of."""
    for word in _WORD_OR_SYMBOL.findall(unicodedata.normalize("NFKC", text)):
        if _ENDS_IN_SYMBOL.search(word):
            yield word.lower()
            continue
        for run, other in _CJK_OR_OTHER.findall(word):
            yield from run or tuple(_parts(other)) or (other.lower(),)


def _compound(text: str) -> Iterator[str]:
    """`c++`, and names such as `foo-bar.baz` as a whole."""
    has_symbol = _ENDS_IN_SYMBOL.search(text) is not None
    name = text.strip(_JOINERS) if has_symbol else text.strip(f"{_JOINERS}+#")
    is_joined = any(joiner in name for joiner in _JOINERS)
    if name and len(name) <= MAX_WORD_CHARS and (has_symbol or is_joined):
        yield name.lower()


def _parts(word: str) -> Iterator[str]:
    parts = [part for part in _BETWEEN_PARTS.split(word) if part]
    if parts and parts[0] != word:
        yield from (part.lower() for part in parts)


def _pairs(run: str) -> Iterator[str]:
    # The last character stands alone, so that every character begins a term.
    return (run[at : at + 2] for at in range(len(run)))


def _query_pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield f"{run}*"
    else:
        yield from (run[at : at + 2] for at in range(len(run) - 1))
