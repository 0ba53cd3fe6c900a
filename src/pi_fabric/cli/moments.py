"""Points in time as somebody types them: dates, times, and how long ago."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from pi_fabric.base.errors import RequestError
from pi_fabric.cli.quoted import MAX_MISTYPED_BYTES, one_line

FORMS: Final = "30m, 12h, 3d, 2w, today, yesterday, 2026-01-31 or 2026-01-31T10:00"

_UNITS_S: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DAY_MS: Final = 86_400_000
# Six digits of weeks are 19,000 years.
_AGO: Final = re.compile(r"(\d{1,6})([mhdw])", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATE_AND_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII | re.IGNORECASE
)
_DAYS_AGO: Final = {"today": 0, "yesterday": 1}


def moment_ms(text: str, *, option: str, now_ms: int, is_end: bool) -> int:
    """A time in milliseconds since the Unix epoch.

    Args:
        text: One of `FORMS`. A date is local midnight, a time without zone is local, and `3d` is three
            times 24 hours ago.
        option: What it was given for, to be named in a message.
        now_ms: The present.
        is_end: True when it ends a stretch of time: a date then means the last millisecond of its day.

    Raises:
        RequestError: If it is none of the forms, or a day that no calendar has.
    """
    word = text.strip().lower()
    try:
        if (ago := _AGO.fullmatch(word)) is not None:
            return now_ms - int(ago[1]) * _UNITS_S[ago[2]] * 1000
        if word in _DAYS_AGO:
            today = datetime.fromtimestamp(now_ms / 1000).replace(hour=0, minute=0, second=0, microsecond=0)
            return _day_ms(today - timedelta(days=_DAYS_AGO[word]), is_end=is_end)
        if _DATE.fullmatch(word):
            return _day_ms(datetime.fromisoformat(word), is_end=is_end)
        if _DATE_AND_TIME.fullmatch(word):
            return round(datetime.fromisoformat(word.upper()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        # A day or a time that there is not, or one that the system's calendar does not reach.
        pass
    shown = one_line(text, MAX_MISTYPED_BYTES)
    raise RequestError(option, f"{shown!r} is no time; write\n  {FORMS}")


def _day_ms(midnight: datetime, *, is_end: bool) -> int:
    """The first or the last millisecond of a local day, which may have 23 or 25 hours."""
    if not is_end:
        return _local_ms(midnight)
    try:
        return _local_ms(midnight + timedelta(days=1)) - 1
    except OverflowError:
        return _local_ms(midnight) + _DAY_MS - 1


def _local_ms(moment: datetime) -> int:
    try:
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        # The first and the last day of the calendar have no neighbour to be shifted into.
        return round(moment.replace(tzinfo=UTC).timestamp() * 1000)
