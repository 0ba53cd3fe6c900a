from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.memory.termfile import TermFile, encode_terms

WORDS = st.text(st.sampled_from("ab_\u0436\u8bc4\U0001f600\U0010ffff"), max_size=4).map(str.encode)
TERMS = WORDS | st.binary(max_size=3)
NUMBERS = st.lists(st.integers(0, 2**32 - 1), max_size=4)
POSTINGS = st.dictionaries(TERMS, NUMBERS, max_size=12)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("terms") / "x.words"


def opened(file: Path, postings: Mapping[bytes, list[int]]) -> TermFile:
    # A file in use is never changed, only replaced.
    file.unlink(missing_ok=True)
    file.write_bytes(encode_terms(postings))
    return TermFile(file)


@pytest.mark.requirement("memory:words:lookup")
@given(POSTINGS, TERMS)
def test_looking_up_finds_what_was_put_in(file: Path, postings: dict[bytes, list[int]], other: bytes) -> None:
    terms = opened(file, postings)

    for term in (*postings, other):
        assert terms.find(term) == postings.get(term, [])
    assert dict(terms.items()) == postings
    assert [term for term, _ in terms.items()] == sorted(postings)


@pytest.mark.requirement("memory:words:lookup")
@given(st.dictionaries(WORDS, NUMBERS, max_size=12), WORDS)
def test_a_beginning_finds_the_numbers_of_every_term_that_has_it(
    file: Path, postings: dict[bytes, list[int]], start: bytes
) -> None:
    found = opened(file, postings).find_prefix(start)

    having = [term for term in sorted(postings) if term.startswith(start)]
    assert found == [number for term in having for number in postings[term]]


@pytest.mark.requirement("memory:shard:damaged")
@given(POSTINGS, st.integers(min_value=0))
def test_a_file_that_is_cut_anywhere_is_refused(
    file: Path, postings: dict[bytes, list[int]], at: int
) -> None:
    data = encode_terms(postings)
    file.unlink(missing_ok=True)
    file.write_bytes(data[: at % len(data)])

    with pytest.raises(ValueError):  # noqa: PT011
        TermFile(file)


@pytest.mark.requirement("memory:shard:damaged")
@pytest.mark.parametrize("change", ["longer", "magic", "count"])
def test_a_file_of_something_else_is_refused(file: Path, change: str) -> None:
    data = bytearray(encode_terms({b"a": [1], b"b": [2]}))
    if change == "longer":
        data += b"x"
    else:
        data[0 if change == "magic" else 4] ^= 1
    file.unlink(missing_ok=True)
    file.write_bytes(data)

    with pytest.raises(ValueError, match=r"x\.words"):
        TermFile(file)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TermFile(tmp_path / "none")
