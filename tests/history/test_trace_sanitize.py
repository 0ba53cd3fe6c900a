import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pi_fabric.base.bounds import json_bytes
from pi_fabric.base.jsonvalue import Json, scrub
from pi_fabric.history.trace.sanitize import (
    BASE64_MARK,
    CUT_MARK,
    DEEP_MARK,
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_NODES,
    MAX_STRING_BYTES,
    MAX_VALUE_BYTES,
    MEDIA_MARK,
    REDACTED_MARK,
    sanitize,
)

any_text = st.text(st.characters(exclude_categories=()))
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=20,
)


@pytest.mark.requirement("trace:sanitize:redact")
@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWD",
        "api-key",
        "x_api_key",
        "accessToken",
        "Set-Cookie",
        "clientSecret",
        "credentials",
    ],
)
def test_a_value_under_a_secret_key_is_redacted(key: str) -> None:
    kept = sanitize({key: "abc"})

    assert kept.value == {key: REDACTED_MARK}
    assert kept.redacted == 1


@pytest.mark.parametrize("key", ["tokens", "keyboard", "secretary", "passwords"])
def test_a_key_that_only_holds_a_secret_word_is_kept(key: str) -> None:
    assert sanitize({key: "abc"}).value == {key: "abc"}


@pytest.mark.requirement("trace:sanitize:media")
def test_media_is_dropped_by_key_and_replaced_by_type() -> None:
    kept = sanitize({"images": [1], "a": {"type": "image", "data": "x"}, "b": {"mimeType": "Audio/wav"}})

    assert kept.value == {"a": MEDIA_MARK, "b": MEDIA_MARK}
    assert kept.dropped == 3


@pytest.mark.requirement("trace:sanitize:base64")
@pytest.mark.parametrize(
    ("text", "is_dropped"),
    [
        ("data:image/png;base64,AAAA", True),
        ("A" * 1024, True),
        ("A" * 1022 + "==", True),
        (("A" * 62 + "\r\n") * 16, True),
        ("A" * 1020, False),
        ("A" * 1025, False),
        ("A" * 1023 + "!", False),
        ("data: image", False),
    ],
)
def test_base64_is_dropped(text: str, is_dropped: bool) -> None:
    kept = sanitize({"a": text})

    assert (kept.value["a"] == BASE64_MARK) is is_dropped
    assert kept.dropped == is_dropped


@pytest.mark.requirement("trace:sanitize:bounds")
def test_a_long_text_is_cut_with_a_mark() -> None:
    kept = sanitize({"a": "é " * MAX_STRING_BYTES})

    assert kept.value["a"].endswith(CUT_MARK)
    assert len(kept.value["a"].encode()) <= MAX_STRING_BYTES
    assert kept.truncated == 1


def test_deep_nesting_is_cut() -> None:
    value: Json = "leaf"
    for _ in range(5_000):
        value = [value]

    kept = sanitize(value)

    inner = kept.value
    for _ in range(MAX_DEPTH):
        inner = inner[0]
    assert inner == DEEP_MARK
    assert kept.truncated == 1


def test_entries_beyond_the_bound_are_dropped_and_counted() -> None:
    kept = sanitize({"list": list(range(MAX_ENTRIES + 5))})

    assert kept.value == {"list": list(range(MAX_ENTRIES))}
    assert (kept.dropped, kept.truncated) == (5, 1)


def test_a_container_that_is_too_large_keeps_whole_leading_entries() -> None:
    kept = sanitize([f"{number:05} " * 1_000 for number in range(20)])

    assert kept.value == [f"{number:05} " * 1_000 for number in range(10)]
    assert (kept.dropped, kept.truncated) == (10, 1)
    assert json_bytes(kept.value) <= MAX_VALUE_BYTES


def test_the_number_of_values_is_bounded() -> None:
    kept = sanitize([[[1] * 100] * 100] * 100)

    assert kept.truncated > 0
    assert json_bytes(kept.value) <= MAX_NODES * 20


@pytest.mark.requirement("trace:sanitize:numbers")
@pytest.mark.parametrize(
    ("number", "kept"),
    [
        (2**53, "9007199254740992"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (1.5, 1.5),
    ],
)
def test_numbers_that_json_cannot_say_become_text(number: Json, kept: Json) -> None:
    assert sanitize([number]).value == [kept]


@pytest.mark.requirement("trace:sanitize:sorted")
def test_keys_are_sorted_by_utf16_unit() -> None:
    assert list(sanitize({"\uffee": 1, "😀": 2, "a": 3, "B": 4}).value) == ["B", "a", "😀", "\uffee"]


@given(any_json)
@example({"\ud000": None})
def test_whatever_comes_in_small_and_clean_json_comes_out(value: Json) -> None:
    kept = sanitize(value)

    assert json_bytes(kept.value) <= MAX_VALUE_BYTES
    assert scrub(kept.value) == kept.value


@given(st.dictionaries(any_text, any_json, max_size=5))
def test_the_order_of_keys_does_not_matter(value: dict[str, Json]) -> None:
    assert sanitize(value) == sanitize(dict(reversed(value.items())))
