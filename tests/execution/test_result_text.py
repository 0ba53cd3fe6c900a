from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import utf16_length
from pi_fabric.execution.format_value import Formatted
from pi_fabric.execution.result_text import FAILED_MAX_CHARS, ResultText, join_result

SAVED = Path("whole.txt")


class Saver:
    """Takes the whole text where a file would."""

    def __init__(self, path: Path | None = SAVED) -> None:
        self.path = path
        self.texts: list[str] = []

    def __call__(self, text: str) -> Path | None:
        self.texts.append(text)
        return self.path


def join(
    *,
    logs: list[str] | None = None,
    value: str | None = None,
    error: str | None = None,
    notices: list[str] | None = None,
    max_chars: int = 1_000,
    failed: bool = False,
    spill: Saver | None = None,
) -> ResultText:
    return join_result(
        logs=logs or [],
        value=None if value is None else Formatted(text=value),
        error=error,
        notices=notices or [],
        max_chars=max_chars,
        failed=failed,
        spill=spill or Saver(),
    )


@pytest.mark.requirement("result:text:sections")
def test_sections_are_joined_by_a_blank_line() -> None:
    joined = join(logs=["a", "b"], value="v: 1", error="Error: e", notices=["n1", "n2"])

    assert joined.text == "a\nb\n\nv: 1\n\nError: e\n\nn1\nn2"


@pytest.mark.requirement("result:text:empty")
def test_an_empty_result_says_so() -> None:
    assert join(value="").text == "(no output)"
    assert join(notices=["not checked"]).text == "(no output)\n\nnot checked"


def test_a_text_that_fits_is_neither_cut_nor_saved() -> None:
    saver = Saver()

    joined = join(value="x" * 1_000, spill=saver)

    assert joined == ResultText(text="x" * 1_000)
    assert saver.texts == []


@pytest.mark.requirement("result:text:first-line")
def test_the_first_line_of_a_cut_text_names_limit_size_and_file() -> None:
    joined = join(value="x" * 5_000)

    assert joined.text.split("\n")[0] == "[cut to 1000 of 5000 characters; whole text: whole.txt]"
    assert joined.spill_path == SAVED


def test_a_text_that_could_not_be_saved_is_said_to_be_lost() -> None:
    joined = join(value="x" * 5_000, spill=Saver(None))

    assert "the whole text could not be saved" in joined.text.split("\n")[0]
    assert joined.spill_path is None


@pytest.mark.requirement("result:text:spill")
def test_the_whole_text_is_saved() -> None:
    saver = Saver()
    lines = [f"line {number}" for number in range(1_000)]

    join(logs=lines, value="v: 1", error="Error: e", spill=saver)

    assert saver.texts == ["\n".join(lines) + "\n\nv: 1\n\nError: e"]


@pytest.mark.requirement("result:text:shared")
def test_large_sections_share_what_the_small_ones_leave() -> None:
    joined = join(logs=["l" * 30_000], value="v" * 30_000, error="Error: line 2400", max_chars=10_000)

    assert "Error: line 2400" in joined.text
    assert abs(joined.text.count("l" * 100) - joined.text.count("v" * 100)) <= 1
    assert 9_900 < len(joined.text) <= 10_000


@pytest.mark.requirement("result:text:both-ends")
def test_each_cut_section_keeps_both_ends() -> None:
    logs = [f"log {number:04}" for number in range(5_000)]
    value = "\n".join(f"- row {number:04}" for number in range(5_000))

    lines = join(logs=logs, value=value, max_chars=4_000).text.split("\n")

    for kept in ("log 0000", "log 4999", "- row 0000", "- row 4999"):
        assert kept in lines
    assert sum("left out" in line for line in lines) == 2
    assert set(lines[1:]) <= {*logs, *value.split("\n"), "", *(line for line in lines if "left out" in line)}


@pytest.mark.requirement("result:text:failed")
def test_a_failed_run_gets_less_and_a_stricter_limit_is_not_raised() -> None:
    logs = ["x" * 99] * 1_000

    assert len(join(logs=logs, error="Error: e", max_chars=90_000, failed=True).text) <= FAILED_MAX_CHARS
    assert len(join(logs=logs, error="Error: e", max_chars=2_000, failed=True).text) <= 2_000
    assert len(join(logs=logs, max_chars=90_000).text) > FAILED_MAX_CHARS


parts = st.text(st.sampled_from("ab\n😀 "), max_size=3_000)


@given(st.lists(parts, max_size=3), parts, parts, st.integers(200, 1_500), st.booleans())
def test_the_text_never_exceeds_its_limit_nor_splits_a_pair(
    logs: list[str], value: str, error: str, max_chars: int, failed: bool
) -> None:
    joined = join(logs=logs, value=value, error=error, max_chars=max_chars, failed=failed)

    assert utf16_length(joined.text) <= max_chars
    joined.text.encode("utf-8")
