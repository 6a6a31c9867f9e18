"""Times: which spellings are read, which is written, how they compare."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession.timestamp import Timestamp, now_sql, now_text, valid

NS = 1_000_000_000
MIN = -62_167_219_200 * NS
MAX = 253_402_300_800 * NS - 1
offsets = st.integers(-1439, 1439)
# A day away from the edges, every offset stays within the years.
instants = st.integers(MIN + 86_400 * NS, MAX - 86_400 * NS)


@pytest.mark.parametrize(
    ("text", "nanoseconds", "offset"),
    [
        ("1970-01-01T00:00:00Z", 0, 0),
        ("1970-01-01T00:00:00.000000001Z", 1, 0),
        ("1970-01-01T00:00:00.1234567899999Z", 123_456_789, 0),
        ("1969-12-31T23:59:59.5Z", -NS // 2, 0),
        ("2026-03-01T08:15:30.250Z", 1_772_352_930_250_000_000, 0),
        ("2026-03-01T10:15:30.25+02:00", 1_772_352_930_250_000_000, 120),
        ("2026-03-01T02:45:30.25-05:30", 1_772_352_930_250_000_000, -330),
        ("2026-03-01T08:15:30.25-00:00", 1_772_352_930_250_000_000, 0),
        ("2000-02-29T00:00:00Z", 951_782_400 * NS, 0),
        ("2024-02-29T23:59:59Z", 1_709_251_199 * NS, 0),
        ("0000-01-01T00:00:00Z", MIN, 0),
        ("0000-02-29T00:00:00Z", MIN + 59 * 86_400 * NS, 0),
        ("0000-12-31T23:59:59.999999999Z", -62_135_596_800 * NS - 1, 0),
        ("0001-01-01T00:00:01Z", -62_135_596_799 * NS, 0),
        ("9999-12-31T23:59:59.999999999Z", MAX, 0),
        ("9999-12-31T23:59:59-23:59", MAX - (NS - 1) + 1439 * 60 * NS, -1439),
        ("0000-01-01T00:00:00+23:59", MIN - 1439 * 60 * NS, 1439),
    ],
)
def test_parse_reads(text: str, nanoseconds: int, offset: int) -> None:
    time = Timestamp.parse(text)
    assert (time.text, time.nanoseconds, time.offset_minutes) == (text, nanoseconds, offset)
    assert str(time) == text
    assert valid(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2026-03-01t08:15:30Z", "not a time"),
        ("2026-03-01T08:15:30z", "not a time"),
        ("2026-03-01 08:15:30Z", "not a time"),
        ("2026-03-01T08:15:30,5Z", "not a time"),
        ("2026-03-01T8:15:30Z", "not a time"),
        ("2026-03-01T08:15:30", "not a time"),
        ("2026-03-01T08:15:30.Z", "not a time"),
        ("2026-03-01T08:15Z", "not a time"),
        ("2026-03-01", "not a time"),
        ("2026-03-01T08:15:30+0200", "not a time"),
        ("2026-03-01T08:15:30+2:00", "not a time"),
        ("2026-03-01T08:15:30Z\n", "not a time"),
        (" 2026-03-01T08:15:30Z", "not a time"),
        ("10000-01-01T00:00:00Z", "not a time"),
        ("-001-01-01T00:00:00Z", "not a time"),
        ("\u0662\u0660\u0662\u0666-03-01T08:15:30Z", "not a time"),
        ("2026-03-01T08:15:30.\u0665Z", "not a time"),
        ("", "not a time"),
        ("\ud800", "not a time"),
        ("2026-00-01T08:15:30Z", "month must be 01 to 12"),
        ("2026-13-01T08:15:30Z", "month must be 01 to 12"),
        ("2026-03-00T08:15:30Z", "day must be 01 to 31"),
        ("2026-03-32T08:15:30Z", "day must be 01 to 31"),
        ("2026-03-01T24:00:00Z", "hour must be 00 to 23"),
        ("2026-03-01T08:60:30Z", "minutes must be 00 to 59"),
        ("2026-03-01T08:15:60Z", "seconds must be 00 to 59"),
        ("2026-03-01T08:15:30+24:00", "offset hours must be 00 to 23"),
        ("2026-03-01T08:15:30-23:60", "offset minutes must be 00 to 59"),
        ("2026-02-29T08:15:30Z", "month 02 of 2026 has no day 29"),
        ("1900-02-29T08:15:30Z", "month 02 of 1900 has no day 29"),
        ("2026-04-31T08:15:30Z", "month 04 of 2026 has no day 31"),
    ],
)
def test_parse_refuses(text: str, problem: str) -> None:
    assert not valid(text)
    with pytest.raises(ValueError, match=problem) as caught:
        Timestamp.parse(text)
    assert str(caught.value).isascii()


def test_a_long_text_is_quoted_short() -> None:
    with pytest.raises(ValueError, match="not a time") as caught:
        Timestamp.parse("x" * 100_000)
    assert len(str(caught.value)) < 150


def test_a_long_fraction_is_cut() -> None:
    text = f"2026-03-01T08:15:30.{'9' * 100_000}Z"
    assert valid(text)
    assert Timestamp.parse(text).nanoseconds % NS == 999_999_999


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.0000000001Z",
        "0001-01-01T05:00:00+05:00",
        "0000-12-31T19:00:00-05:00",
    ],
)
def test_the_zero_time_counts_as_none(text: str) -> None:
    assert Timestamp.parse(text).is_zero
    assert not valid(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "0000-12-31T00:00:00Z"])
def test_near_the_zero_time(text: str) -> None:
    assert not Timestamp.parse(text).is_zero
    assert valid(text)


@pytest.mark.parametrize(
    ("text", "written", "normal"),
    [
        ("2026-03-01T08:15:30.250Z", "2026-03-01T08:15:30.25Z", "2026-03-01T08:15:30.25Z"),
        ("2026-03-01T08:15:30.000+00:00", "2026-03-01T08:15:30Z", "2026-03-01T08:15:30Z"),
        ("2026-03-01T01:15:30+02:00", "2026-03-01T01:15:30+02:00", "2026-02-28T23:15:30Z"),
        ("2026-03-01T23:15:30-01:30", "2026-03-01T23:15:30-01:30", "2026-03-02T00:45:30Z"),
        ("0000-01-01T01:00:00+01:00", "0000-01-01T01:00:00+01:00", "0000-01-01T00:00:00Z"),
        (
            "2026-03-01T08:15:30.1234567891Z",
            "2026-03-01T08:15:30.123456789Z",
            "2026-03-01T08:15:30.123456789Z",
        ),
    ],
)
def test_spellings(text: str, written: str, normal: str) -> None:
    time = Timestamp.parse(text)
    assert (time.written(), time.normal()) == (written, normal)


def test_keys() -> None:
    time = Timestamp.parse("2026-03-01T10:15:30.2509999+02:00")
    assert time.stamp() == "2026-03-01T08-15-30.250Z"
    assert time.sql() == "2026-03-01T08:15:30.250999900Z"


def test_keys_stay_within_the_years() -> None:
    early = Timestamp.parse("0000-01-01T00:00:00+01:00")
    late = Timestamp.parse("9999-12-31T23:59:59-01:00")
    assert early.stamp() == "0000-01-01T00-00-00.000Z"
    assert early.sql() == "0000-01-01T00:00:00.000000000Z"
    assert late.stamp() == "9999-12-31T23-59-59.999Z"
    assert late.sql() == "9999-12-31T23:59:59.999999999Z"
    for time in (early, late):
        with pytest.raises(ValueError, match="outside the years 0000 to 9999"):
            time.normal()


def test_datetime() -> None:
    time = Timestamp.parse("2026-03-01T10:15:30.123456789+02:00")
    zone = dt.timezone(dt.timedelta(hours=2))
    assert time.datetime() == dt.datetime(2026, 3, 1, 10, 15, 30, 123456, zone)
    assert time.datetime().utcoffset() == dt.timedelta(hours=2)
    assert Timestamp.parse("2026-03-01T10:15:30Z").datetime().tzinfo is dt.UTC
    with pytest.raises(ValueError, match="no year 0"):
        Timestamp.parse("0000-06-01T00:00:00Z").datetime()


def test_of() -> None:
    time = Timestamp.parse("2026-03-01T08:15:30.250Z")
    assert Timestamp.of(time) is time
    assert Timestamp.of("2026-03-01T08:15:30.250Z").text == "2026-03-01T08:15:30.250Z"
    zone = dt.timezone(dt.timedelta(hours=-5, minutes=-30))
    aware = dt.datetime(2026, 3, 1, 2, 45, 30, 250_000, zone)
    assert Timestamp.of(aware).text == "2026-03-01T02:45:30.25-05:30"
    assert Timestamp.of(aware) == time


def test_of_keeps_the_instant_of_an_offset_with_seconds() -> None:
    zone = dt.timezone(dt.timedelta(minutes=53, seconds=28))
    aware = dt.datetime(1890, 1, 1, tzinfo=zone)
    time = Timestamp.of(aware)
    assert time.text == "1889-12-31T23:59:32+00:53"
    assert time == aware


def test_of_refuses() -> None:
    naive = dt.datetime(2026, 3, 1)  # noqa: DTZ001
    with pytest.raises(ValueError, match="must be aware"):
        Timestamp.of(naive)
    with pytest.raises(TypeError, match="not int"):
        Timestamp.of(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a time"):
        Timestamp.of("today")


def test_from_nanoseconds_refuses() -> None:
    for nanoseconds, offset in ((MIN - 1, 0), (MAX + 1, 0), (MAX, 1), (MIN, -1), (10**400, 0)):
        with pytest.raises(ValueError, match="outside the years"):
            Timestamp.from_nanoseconds(nanoseconds, offset)
    with pytest.raises(ValueError, match="within 23:59"):
        Timestamp.from_nanoseconds(0, 1440)


def test_now_is_utc() -> None:
    before = dt.datetime.now(dt.UTC)
    now = Timestamp.now()
    assert now >= before
    assert now.text.endswith("Z")
    assert Timestamp.parse(now.text) == now


def test_order_and_equality() -> None:
    early = Timestamp.parse("2026-03-01T08:15:30Z")
    same = Timestamp.parse("2026-03-01T10:15:30.000+02:00")
    late = Timestamp.parse("2026-03-01T08:15:30.000000001Z")
    assert early == same
    assert early != late
    assert early < late
    assert late > early
    assert early <= same
    assert early >= same
    assert len({early, same, late}) == 2
    assert sorted([late, early]) == [early, late]
    assert max(early, late) is late


def test_comparison_with_datetimes() -> None:
    time = Timestamp.parse("2026-03-01T08:15:30.250000001Z")
    aware = dt.datetime(2026, 3, 1, 8, 15, 30, 250_000, dt.UTC)
    assert time != aware
    assert time > aware
    assert aware < time
    assert Timestamp.parse("2026-03-01T08:15:30.25Z") == aware
    assert aware == Timestamp.parse("2026-03-01T08:15:30.25Z")
    assert Timestamp.parse("0000-01-01T00:00:00Z") < dt.datetime.min.replace(tzinfo=dt.UTC)


def test_comparison_with_other_things() -> None:
    time = Timestamp.parse("2026-03-01T08:15:30Z")
    naive = dt.datetime(2026, 3, 1, 8, 15, 30)  # noqa: DTZ001
    assert time != naive
    assert time != time.text
    assert time is not None
    with pytest.raises(TypeError):
        _ = time < naive
    with pytest.raises(TypeError):
        _ = time < "2026"  # type: ignore[operator]


def test_is_an_immutable_value() -> None:
    time = Timestamp.parse("2026-03-01T08:15:30.250Z")
    with pytest.raises(dataclasses.FrozenInstanceError):
        time.text = "x"  # type: ignore[misc]
    assert not hasattr(time, "__dict__")
    assert repr(time) == "Timestamp.parse('2026-03-01T08:15:30.250Z')"
    for twin in (copy.deepcopy(time), pickle.loads(pickle.dumps(time))):
        assert (twin, twin.text) == (time, time.text)


@settings(max_examples=200)
@given(instants, offsets)
def test_what_is_written_reads_back(nanoseconds: int, offset: int) -> None:
    time = Timestamp.from_nanoseconds(nanoseconds, offset)
    again = Timestamp.parse(time.text)
    assert (again.nanoseconds, again.offset_minutes) == (nanoseconds, offset)
    assert again.written() == time.text
    assert Timestamp.parse(time.normal()).nanoseconds == nanoseconds
    assert Timestamp.parse(time.sql()) == time
    assert now_sql(nanoseconds) == time.sql()
    assert now_text(nanoseconds) == time.normal()
    assert valid(time.text) is not time.is_zero


@settings(max_examples=200)
@given(instants, instants)
def test_keys_sort_as_the_times_do(left: int, right: int) -> None:
    one, two = Timestamp.from_nanoseconds(left), Timestamp.from_nanoseconds(right)
    assert (one < two) == (one.sql() < two.sql())
    assert (one.stamp() <= two.stamp()) or one > two


@settings(max_examples=200)
@given(
    st.datetimes(timezones=st.builds(dt.timezone, offsets.map(lambda m: dt.timedelta(minutes=m))))
)
def test_datetimes_come_back(value: dt.datetime) -> None:
    time = Timestamp.of(value)
    assert time.datetime() == value
    assert time.datetime().utcoffset() == value.utcoffset()
    assert time == value
    if dt.datetime.min.replace(tzinfo=dt.UTC) <= value <= dt.datetime.max.replace(tzinfo=dt.UTC):
        assert hash(time) == hash(value)


@settings(max_examples=200)
@given(st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]Z\Z"))
def test_the_calendar_is_that_of_datetime(text: str) -> None:
    try:
        expected = dt.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:
        expected = None
    # strptime knows second 60 and 61, and no year 0.
    if text[17:19] in {"60", "61"} or text.startswith("0000"):
        return
    assert valid(text) == (expected is not None and text != "0001-01-01T00:00:00Z")
    if expected is not None:
        assert Timestamp.parse(text) == expected
