import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import JSON_VALUES

from pi_fabric.base.jsonvalue import Json
from pi_fabric.memory.timestamps import read_time, timestamp_of

NEW_YEAR_MS = 1_735_689_600_000


@pytest.fixture
def india(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A zone whose clock is five hours and a half before UTC."""
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.requirement("memory:time:forms")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NEW_YEAR_MS, NEW_YEAR_MS),
        (1.5, 1.5),
        (0, 0),
        (-1, -1),
        ("2025-01-01T00:00:00.000Z", NEW_YEAR_MS),
        ("2025-01-01T00:00:00.123456Z", NEW_YEAR_MS + 123),
        ("2025-01-01T01:00:00+01:00", NEW_YEAR_MS),
        ("1969-12-31T23:59:59.999Z", -1),
        (" 2025-01-01 ", NEW_YEAR_MS),
        ("Wed, 01 Jan 2025 00:00:00 GMT", NEW_YEAR_MS),
        ("yesterday", None),
        ("", None),
        ("2025-13-01", None),
        (True, None),
        (None, None),
        ({}, None),
        (10**400, None),
    ],
)
def test_a_time_is_a_number_or_a_text_as_javascript_reads_it(value: Json, expected: float | None) -> None:
    found = read_time(value)

    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.usefixtures("india")
def test_a_date_alone_is_utc_and_a_time_without_a_zone_is_local() -> None:
    assert read_time("2025-01-01") == NEW_YEAR_MS
    assert read_time("2025-01-01T05:30:00") == NEW_YEAR_MS


@pytest.mark.requirement("memory:time:fallback")
def test_the_time_of_the_message_stands_in() -> None:
    assert timestamp_of({"timestamp": 5, "message": {"timestamp": 6}}) == 5
    assert timestamp_of({"timestamp": "no time", "message": {"timestamp": 6}}) == 6
    assert timestamp_of({"message": {"timestamp": "2025-01-01"}}) == NEW_YEAR_MS
    assert timestamp_of({"message": 5}) is None


@given(JSON_VALUES | st.text())
def test_no_value_is_too_strange_for_a_time(value: Json) -> None:
    assert isinstance(read_time(value), int | float | None)
