"""Compare the withdrawal period with a second computation by instants, holidays, and time zones."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

import pytest

from credit.core.withdrawal import interest, last_day_of, period_end, repay_by, zones_of
from tests.properties import quick_or_full

ZONES = {
    "DE": ["Europe/Berlin"],
    "ES": ["Europe/Madrid", "Atlantic/Canary"],
    "PT": ["Europe/Lisbon", "Atlantic/Azores"],
    "FI": ["Europe/Helsinki"],
    "IE": ["Europe/Dublin"],
}
FIXED = {  # A holiday is a month and day, or an offset in days from Easter Sunday.
    "DE": ({(1, 1), (5, 1), (10, 3), (12, 25), (12, 26)}, {-2, 1, 39, 50}),
    "ES": ({(1, 1), (1, 6), (5, 1), (8, 15), (10, 12), (11, 1), (12, 6), (12, 8), (12, 25)}, {-2}),
    "PT": (
        {(1, 1), (4, 25), (5, 1), (6, 10), (8, 15), (10, 5), (11, 1), (12, 1), (12, 8), (12, 25)},
        {-2, 0, 60},
    ),
    "FI": ({(1, 1), (1, 6), (5, 1), (12, 6), (12, 24), (12, 25), (12, 26)}, {-2, 0, 1, 39, 49}),
}  # fmt: skip


def easter(year):
    """Return Easter Sunday by Meeus's algorithm."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def works(country, day):
    fixed, moving = FIXED[country]
    is_midsummer_eve = country == "FI" and day.month == 6 and 19 <= day.day <= 25 and day.weekday() == 4
    is_fixed = (day.month, day.day) in fixed or is_midsummer_eve
    return day.weekday() < 5 and not is_fixed and (day - easter(day.year)).days not in moving


def local_days(country, moment):
    return [moment.astimezone(ZoneInfo(zone)).date() for zone in ZONES[country]]


def second_end(country, concluded, complete, told):
    """Return the first second after the last day in all time zones of the country, by bisection."""
    if told is None:
        return None
    begin = max(local_days(country, concluded))
    months = date(begin.year + 1, begin.month, 28 if (begin.month, begin.day) == (2, 29) else begin.day)
    if complete is None:
        last = max(months, *local_days(country, told)) + timedelta(days=14)
    else:
        last = max(max(local_days(country, moment)) for moment in (concluded, complete, told)) + timedelta(days=14)
    while not works(country, last):
        last += timedelta(days=1)
    low = int(datetime(last.year, last.month, last.day, tzinfo=UTC).timestamp()) - 86_400
    high = low + 4 * 86_400
    while high - low > 1:
        middle = (low + high) // 2
        is_over = min(local_days(country, datetime.fromtimestamp(middle, UTC))) > last
        low, high = (low, middle) if is_over else (middle, high)
    return datetime.fromtimestamp(high, UTC)


@pytest.mark.parametrize("country", sorted(FIXED))
def test_withdrawal_period_end_equals_an_independent_computation(country):
    chance = Random(f"withdrawal {country}")
    start = datetime(2026, 11, 20, 12, tzinfo=UTC)
    for _ in range(quick_or_full(300, 1_000)):
        concluded = start + timedelta(seconds=chance.randrange(400 * 86_400))
        late = concluded + timedelta(seconds=chance.randrange(60 * 86_400))
        complete = chance.choice([concluded, late, None])
        notified_at = chance.choice([concluded, concluded, complete or concluded, None])
        end = period_end([country], concluded_at=concluded, complete_since=complete, told_of_right_at=notified_at)
        assert end == second_end(country, concluded, complete, notified_at), (country, concluded, complete, notified_at)


def at(text):
    return datetime.fromisoformat(text)


def end_of(country="DE", *, concluded="2026-12-01T10:00:00Z", complete="same", told="same"):
    moments = {"same": at(concluded), None: None}
    complete_at = moments[complete] if complete in moments else at(complete)
    told_at = moments[told] if told in moments else at(told)
    return period_end([country], concluded_at=at(concluded), complete_since=complete_at, told_of_right_at=told_at)


ENDS = [
    ({}, "2026-12-16T00:00:00+01:00"),  # The day of the conclusion is not counted.
    ({"complete": "2026-12-04T09:00:00+01:00"}, "2026-12-19T00:00:00+01:00"),
    ({"concluded": "2026-11-30T23:30:00Z"}, "2026-12-16T00:00:00+01:00"),  # The date is in December in Berlin.
    # The end moves past Christmas and a weekend.
    ({"concluded": "2026-12-12T10:00:00Z"}, "2026-12-29T00:00:00+01:00"),
    ({"complete": None}, "2027-12-16T00:00:00+01:00"),
    ({"complete": "2027-12-10T10:00:00Z"}, "2027-12-25T00:00:00+01:00"),
    ({"complete": "2028-02-01T10:00:00Z"}, "2027-12-16T00:00:00+01:00"),  # The right had ended before.
    ({"country": "ES"}, "2026-12-16T00:00:00+00:00"),  # The period ends at midnight in the Canaries.
    ({"country": "PT"}, "2026-12-16T00:00:00-01:00"),  # The period ends at midnight in the Azores.
    ({"country": "FI"}, "2026-12-16T00:00:00+02:00"),
    ({"country": ""}, "2026-12-16T00:00:00+00:00"),
    ({"concluded": "2026-11-19T10:00:00Z"}, "2026-12-04T00:00:00+01:00"),  # Directive 2008/48/EC
    # The information about the right was late.
    ({"complete": None, "told": "2028-03-01T10:00:00Z"}, "2028-03-16T00:00:00+01:00"),
    ({"told": "2027-01-04T10:00:00Z"}, "2027-01-19T00:00:00+01:00"),
]  # fmt: skip


def test_withdrawal_period_ends_when_its_last_day_ends_in_the_countrys_last_time_zone():
    for about, end in ENDS:
        assert end_of(**about) == at(end), about


def test_withdrawal_period_has_no_end_if_the_borrower_was_not_informed_of_the_right():
    for about in ({"told": None}, {"told": None, "complete": None}):
        assert end_of(**about) is None
    assert end_of(concluded="2026-11-10T10:00:00Z", complete=None) is None


def test_withdrawal_period_of_borrowers_in_two_countries_has_the_later_end():
    moment = at("2026-12-01T10:00:00Z")
    both = period_end(["DE", "PT"], concluded_at=moment, complete_since=moment, told_of_right_at=moment)
    assert both == at("2026-12-16T00:00:00-01:00")
    assert last_day_of(both, ["DE", "PT"]) == date(2026, 12, 15)
    assert repay_by(at("2026-12-08T09:00:00Z"), ["DE"]) == date(2027, 1, 7)


def test_country_time_zones_include_the_independently_listed_zones():
    for country, names in ZONES.items():
        assert {zone.key for zone in zones_of(country)} >= set(names)


def test_withdrawal_interest_is_computed_with_the_day_count_convention():
    for amount, rate, day_count, days, cents in (
        (10_000_00, "14.2", "act_365", 1, 389), (10_000_00, "14.2", "30_360", 1, 394),
        (10_000_00, "14.2", "act_365", 10, 3890), (9_700_00, "14.2", "act_365", 1, 377), (1, "0", "act_365", 30, 0),
    ):  # fmt: skip
        assert interest(amount, Decimal(rate), day_count=day_count, days=days) == cents
