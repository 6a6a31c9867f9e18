"""Times of a session: the text as it was written, and the instant it names.

Reads and writes the one profile of RFC 3339 the format has (format 3.3). A
``datetime`` keeps microseconds only and knows no year 0, so a time here is its
text plus an integer of nanoseconds.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

_NS: Final = 1_000_000_000
_DAY: Final = 86_400
# A Gregorian cycle: year 0 has the calendar of year 400, this many days earlier.
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_EPOCH_ORDINAL: Final = dt.date(1970, 1, 1).toordinal()
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MAX_OFFSET: Final = 23 * 60 + 59
# 0001-01-01T00:00:00Z, which the format reads as "no time".
_ZERO: Final = (1 - _EPOCH_ORDINAL) * _DAY * _NS
# The day of year 1 begins on one of these dates, whatever the offset.
_ZERO_DATES: Final = ("0001-01-01T", "0000-12-31T")
# First and last nanosecond of the years 0000 (a leap year) to 9999.
_MIN: Final = _ZERO - 366 * _DAY * _NS
_MAX: Final = (dt.date.max.toordinal() + 1 - _EPOCH_ORDINAL) * _DAY * _NS - 1

# Spelled with [0-9]: \d would take the digits of every script.
_READ: Final = re.compile(
    r"([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]+))?"
    r"(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
# The same shape with any digits: tells a number out of range from another shape.
_SHAPE: Final = re.compile(
    r"[0-9]{4}-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"(?:Z|[+-]([0-9]{2}):([0-9]{2}))"
)
_RANGES: Final = (
    ("month", 1, 12),
    ("day", 1, 31),
    ("hour", 0, 23),
    ("minutes", 0, 59),
    ("seconds", 0, 59),
    ("offset hours", 0, 23),
    ("offset minutes", 0, 59),
)


def valid(text: str) -> bool:
    """True when a reader takes ``text`` as the time of an entry or header.

    That is the spelling of :meth:`Timestamp.parse`, and not the zero time
    (:attr:`Timestamp.is_zero`), which counts as no time. Costs one match.

    Spec: format 3.3.
    """
    match = _READ.fullmatch(text)
    if match is None:
        return False
    if match[3] > "28" and int(match[3]) > _days_in_month(int(match[1]), int(match[2])):
        return False
    return not (text.startswith(_ZERO_DATES) and Timestamp.parse(text).is_zero)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Timestamp:
    """A time as it was written, ordered and compared by the instant it names.

    Made by :meth:`parse`, :meth:`of`, :meth:`now` and :meth:`from_nanoseconds`.
    Aware ``datetime`` values compare with it; naive ones are never equal and
    never ordered.

    >>> Timestamp.parse("2026-03-01T10:15:30.250+02:00").normal()
    '2026-03-01T08:15:30.25Z'

    Spec: format 3.3, decision A13.

    Attributes:
        text: the spelling it was read with, or the written spelling.
        nanoseconds: nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
        offset_minutes: minutes east of UTC that the text is written in.
    """

    text: str
    nanoseconds: int
    offset_minutes: int

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """The time ``text`` names, keeping its spelling; digits beyond nanoseconds are cut.

        Raises:
            ValueError: ``text`` is not a time as the format spells it.

        Spec: format 3.3 "Read". A fraction needs at least one digit.
        """
        match = _READ.fullmatch(text)
        if match is None:
            raise ValueError(f"{_quote(text)}: {_problem(text)}")
        year, month, day, hour, minute, second, fraction, sign, off_hour, off_minute = (
            match.groups()
        )
        if int(day) > _days_in_month(int(year), int(month)):
            raise ValueError(f"{_quote(text)}: month {month} of {year} has no day {day}")
        offset = 0
        if sign:
            offset = int(off_hour) * 60 + int(off_minute)
            offset = -offset if sign == "-" else offset
        seconds = _days(int(year), int(month), int(day)) * _DAY
        seconds += (int(hour) * 60 + int(minute) - offset) * 60 + int(second)
        nanoseconds = int(fraction[:9].ljust(9, "0")) if fraction else 0
        return cls(text, seconds * _NS + nanoseconds, offset)

    @classmethod
    def from_nanoseconds(cls, nanoseconds: int, offset_minutes: int = 0) -> Timestamp:
        """The time so many nanoseconds after the epoch, written in the given offset.

        Raises:
            ValueError: an offset beyond 23:59, or a year outside 0000 to 9999.

        Spec: format 3.3 "Write".
        """
        if abs(offset_minutes) > _MAX_OFFSET:
            raise ValueError(f"offset of {offset_minutes} minutes: it must be within 23:59")
        if not offset_minutes and 0 <= nanoseconds <= _MAX:
            return cls(now_text(nanoseconds), nanoseconds, 0)
        text = _written(nanoseconds, offset_minutes)
        return cls(text, nanoseconds, offset_minutes)

    @classmethod
    def of(cls, value: Timestamp | dt.datetime | str) -> Timestamp:
        """The same time as ``value``: a time, an aware ``datetime``, or text to parse.

        A ``datetime`` is written in its own offset, cut to whole minutes (the
        instant stays exact).

        Raises:
            TypeError: ``value`` is of another type.
            ValueError: a naive ``datetime``, or text that is not a time.

        Spec: format 3.3 "Write".
        """
        if isinstance(value, Timestamp):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if not isinstance(value, dt.datetime):
            raise TypeError(f"a time must be text or an aware datetime, not {type(value).__name__}")
        offset = value.utcoffset()
        if offset is None:
            raise ValueError(f"{value.isoformat()}: a datetime must be aware, give it a time zone")
        minutes = int(offset / dt.timedelta(minutes=1))
        return cls.from_nanoseconds(_nanoseconds(value, offset), minutes)

    @classmethod
    def now(cls) -> Timestamp:
        """The current time in UTC, with all the digits the clock gives."""
        nanoseconds = time.time_ns()
        return cls(now_text(nanoseconds), nanoseconds, 0)

    @property
    def is_zero(self) -> bool:
        """True for the instant 0001-01-01T00:00:00Z, which means "no time" (format 3.3)."""
        return self.nanoseconds == _ZERO

    def datetime(self) -> dt.datetime:
        """An aware ``datetime`` in this offset, cut to microseconds.

        Raises:
            ValueError: the time lies in year 0, which ``datetime`` does not have.
        """
        seconds, nanoseconds = divmod(self.nanoseconds, _NS)
        days, second = divmod(seconds + self.offset_minutes * 60, _DAY)
        try:
            date = dt.date.fromordinal(days + _EPOCH_ORDINAL)
        except (ValueError, OverflowError):
            message = f"{_quote(self.text)}: datetime has no year 0, use the nanoseconds"
            raise ValueError(message) from None
        minute, second = divmod(second, 60)
        hour, minute = divmod(minute, 60)
        clock = dt.time(hour, minute, second, nanoseconds // 1000, tzinfo=self._zone())
        return dt.datetime.combine(date, clock)

    def written(self) -> str:
        """The text a writer gives this time: shortest fraction, its own offset.

        Spec: format 3.3 "Write".
        """
        return _written(self.nanoseconds, self.offset_minutes)

    def normal(self) -> str:
        """The one spelling later drafts allow: UTC, shortest fraction, same instant.

        Raises:
            ValueError: in UTC the year is outside 0000 to 9999.

        Spec: later drafts 3.4.
        """
        return _written(self.nanoseconds, 0)

    def stamp(self) -> str:
        """``YYYY-MM-DDThh-mm-ss.mmmZ`` for file names: UTC, cut to milliseconds.

        An instant outside the years 0000 to 9999 gives the nearest one inside.

        Spec: stores 4.1.
        """
        clock, nanoseconds = _utc_key(self.nanoseconds)
        return f"{clock.replace(':', '-')}.{nanoseconds // 1_000_000:03}Z"

    def sql(self) -> str:
        """``YYYY-MM-DDThh:mm:ss.nnnnnnnnnZ``, so that text order is time order.

        An instant outside the years 0000 to 9999 gives the nearest one inside.

        Spec: stores 5.1.
        """
        clock, nanoseconds = _utc_key(self.nanoseconds)
        return f"{clock}.{nanoseconds:09}Z"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Timestamp.parse({self.text!r})"

    def __hash__(self) -> int:
        # Equal values hash equal: a datetime with the same instant is equal.
        microseconds, rest = divmod(self.nanoseconds, 1000)
        if rest or not _ZERO <= self.nanoseconds <= _MAX:
            return hash(self.nanoseconds)
        return hash(_EPOCH + dt.timedelta(microseconds=microseconds))

    def __eq__(self, other: object) -> bool:
        instant = _instant(other)
        return NotImplemented if instant is None else self.nanoseconds == instant

    def __lt__(self, other: Timestamp | dt.datetime) -> bool:
        instant = _instant(other)
        return NotImplemented if instant is None else self.nanoseconds < instant

    def __le__(self, other: Timestamp | dt.datetime) -> bool:
        instant = _instant(other)
        return NotImplemented if instant is None else self.nanoseconds <= instant

    def __gt__(self, other: Timestamp | dt.datetime) -> bool:
        instant = _instant(other)
        return NotImplemented if instant is None else self.nanoseconds > instant

    def __ge__(self, other: Timestamp | dt.datetime) -> bool:
        instant = _instant(other)
        return NotImplemented if instant is None else self.nanoseconds >= instant

    def _zone(self) -> dt.timezone:
        if not self.offset_minutes:
            return dt.UTC
        return dt.timezone(dt.timedelta(minutes=self.offset_minutes))


def _instant(value: object) -> int | None:
    """Nanoseconds since the epoch of a time or aware datetime; ``None`` for anything else."""
    if isinstance(value, Timestamp):
        return value.nanoseconds
    if isinstance(value, dt.datetime):
        offset = value.utcoffset()
        if offset is not None:
            return _nanoseconds(value, offset)
    return None


def _nanoseconds(value: dt.datetime, offset: dt.timedelta) -> int:
    # Subtracting naive values and the offset apart never leaves datetime's range.
    since = value.replace(tzinfo=None) - _EPOCH.replace(tzinfo=None) - offset
    return (since.days * _DAY + since.seconds) * _NS + since.microseconds * 1000


def _days(year: int, month: int, day: int) -> int:
    """Days from the epoch to a date of the years 0000 to 9999."""
    if year == 0:
        return dt.date(_CYCLE_YEARS, month, day).toordinal() - _CYCLE_DAYS - _EPOCH_ORDINAL
    return dt.date(year, month, day).toordinal() - _EPOCH_ORDINAL


def _date(days: int) -> str:
    """The date so many days after the epoch; the years are 0000 to 9999."""
    ordinal = days + _EPOCH_ORDINAL
    if ordinal >= 1:
        return dt.date.fromordinal(ordinal).isoformat()
    return "0000" + dt.date.fromordinal(ordinal + _CYCLE_DAYS).isoformat()[4:]


def now_text(nanoseconds: int) -> str:
    """The written spelling, in UTC, of nanoseconds since the epoch; quick for a clock's times."""
    seconds, rest = divmod(nanoseconds, _NS)
    if not rest:
        return _second_text(seconds)[:-1] + "Z"
    return f"{_second_text(seconds)}{rest:09}".rstrip("0") + "Z"


def now_sql(nanoseconds: int) -> str:
    """The spelling of :meth:`Timestamp.sql`; quick for a clock's times."""
    seconds, rest = divmod(nanoseconds, _NS)
    return f"{_second_text(seconds)}{rest:09}Z"


@lru_cache(maxsize=16)
def _second_text(seconds: int) -> str:
    return f"{_clock(seconds)}."


def _days_in_month(year: int, month: int) -> int:
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in {4, 6, 9, 11} else 31


def _clock(local_seconds: int) -> str:
    """``YYYY-MM-DDThh:mm:ss`` of seconds since the epoch on the local clock."""
    days, second = divmod(local_seconds, _DAY)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{_date(days)}T{hour:02}:{minute:02}:{second:02}"


def _utc_key(nanoseconds: int) -> tuple[str, int]:
    seconds, rest = divmod(min(max(nanoseconds, _MIN), _MAX), _NS)
    return _clock(seconds), rest


def _written(nanoseconds: int, offset_minutes: int) -> str:
    local = nanoseconds + offset_minutes * 60 * _NS
    if not _MIN <= local <= _MAX:
        raise ValueError("the time is outside the years 0000 to 9999, the only ones the format has")
    seconds, rest = divmod(local, _NS)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{_clock(seconds)}{fraction}{_zone_text(offset_minutes)}"


def _zone_text(offset_minutes: int) -> str:
    if not offset_minutes:
        return "Z"
    hours, minutes = divmod(abs(offset_minutes), 60)
    return f"{'-' if offset_minutes < 0 else '+'}{hours:02}:{minutes:02}"


def _quote(text: str) -> str:
    """A short quotation that prints on any terminal."""
    return json.dumps(text if len(text) <= 40 else text[:37] + "...")


def _problem(text: str) -> str:
    match = _SHAPE.fullmatch(text)
    if match is not None:
        for (name, low, high), found in zip(_RANGES, match.groups(), strict=True):
            if found is not None and not low <= int(found) <= high:
                return f"{name} must be {low:02} to {high}"
    return "not a time, expected YYYY-MM-DDThh:mm:ss with Z or an offset such as +02:00"
