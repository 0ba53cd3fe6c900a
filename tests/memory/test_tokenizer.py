import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import TEXTS

from pi_fabric.memory import digest
from pi_fabric.memory.digest import pieces
from pi_fabric.memory.tokenizer import byte_tokens, tokenize


@pytest.mark.requirement("memory:tokens:letters")
def test_a_word_is_made_of_letters_numbers_and_underscores_and_of_nothing_else() -> None:
    def is_word(char: str) -> bool:
        return char == "_" or unicodedata.category(char)[0] in "LN"

    # NFKC is taken first; only characters that it leaves alone can tell what a word is made of.
    stable = (
        char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.normalize("NFKC", char) == char
    )
    wrong = [char for char in stable if bool(tokenize(char)) != is_word(char)]

    assert wrong == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Foo, foo; a_b 12", ["foo", "foo", "a_b", "12"], id="in order, as often as they come"),
        pytest.param("src/foo.ts", ["src", "foo", "ts"], id="punctuation"),
        pytest.param(
            "\uff21\uff22\uff23 \ufb01le \u00b2",
            ["abc", "file", "2"],
            id="NFKC",
            marks=pytest.mark.requirement("memory:tokens:nfkc"),
        ),
        pytest.param("e\u0301t\u00e9", ["\u00e9t\u00e9"], id="composed"),
        pytest.param(
            "हिन्दी", ["ह", "न", "द"], id="marks split", marks=pytest.mark.requirement("memory:tokens:marks")
        ),
        pytest.param(
            "ΟΔΟΣ İ", ["οδος", "i\u0307"], id="case", marks=pytest.mark.requirement("memory:tokens:case")
        ),
        pytest.param("明天下午三点开项目评审会议", ["明天下午三点开项目评审会议"], id="CJK is one word"),
        pytest.param("C++ ... -", ["c"], id="signs are none"),
        pytest.param("a\u2028b\x00c", ["a", "b", "c"], id="separators"),
        pytest.param("\ud800x", ["x"], id="half a pair"),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    assert tokenize(text) == words


@given(st.text(st.characters(exclude_categories=["Cs"])) | TEXTS)
def test_words_in_utf_8_are_the_same_words(text: str) -> None:
    assert byte_tokens(text) == [word.encode() for word in tokenize(text)]


@given(st.text(st.characters(exclude_categories=["Cs"])) | TEXTS)
def test_a_word_of_a_text_is_found_by_itself(text: str) -> None:
    for word in tokenize(text):
        assert tokenize(word) == [word] or "\u0307" in word


@given(st.lists(TEXTS, max_size=8).map("=".join), st.integers(1, 20))
def test_a_text_in_pieces_has_the_words_of_the_whole(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digest, "_PIECE_CHARS", size)
        found = list(pieces(text))

    assert "".join(found) == text
    assert [word for piece in found for word in byte_tokens(piece)] == byte_tokens(text)
