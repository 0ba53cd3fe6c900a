"""Times in a session log: numbers, or texts in the forms that JavaScript's `Date.parse` is used for."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from pi_fabric.base.jsonvalue import Json, JsonObject, is_finite_number, is_object
from pi_fabric.memory.model import Number

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A year alone, or a year and a month: the first day of it.
_COARSE: Final = re.compile(r"\A\d{4}(?:-\d{2})?\Z")
_MILLISECOND: Final = timedelta(milliseconds=1)


def timestamp_of(entry: JsonObject) -> Number | None:
    """When an entry was written: its own time, else its message's, else None."""
    own = read_time(entry.get("timestamp"))
    if own is not None:
        return own
    message = entry.get("message")
    return read_time(message.get("timestamp")) if is_object(message) else None


def read_time(value: Json) -> Number | None:
    """Milliseconds since the Unix epoch; a number is taken as it is.

    A date without a time is UTC, a time without a zone is local, as ECMAScript has it.
    """
    if is_finite_number(value):
        return value
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(_COARSE.sub(r"\g<0>-01", _COARSE.sub(r"\g<0>-01", value.strip())))
    except ValueError:
        return _read_mail_date(value)
    if moment.tzinfo is None and not _has_time(value):
        moment = moment.replace(tzinfo=UTC)
    return _milliseconds(moment)


def _read_mail_date(value: str) -> int | None:
    """`Thu, 02 Jan 2025 00:00:00 GMT`, which is how JavaScript prints a date in UTC."""
    try:
        return _milliseconds(parsedate_to_datetime(value))
    except (ValueError, TypeError, IndexError):
        return None


def _has_time(value: str) -> bool:
    return ":" in value or "T" in value


def _milliseconds(moment: datetime) -> int | None:
    try:
        aware = moment if moment.tzinfo is not None else moment.astimezone()
        return (aware - _EPOCH) // _MILLISECOND
    except (OverflowError, OSError, ValueError):
        return None
