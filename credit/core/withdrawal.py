"""Dates and interest of the right of withdrawal (Directive (EU) 2023/2225, Art. 26).

Days are calendar days in the borrowers' countries. In a country with several time zones, the period starts on the date
in the easternmost zone and ends in the westernmost zone. Both rules favor the borrower.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from holidays import country_holidays

from credit.core.apr import in_month, month_of
from credit.core.deadlines import zones_of
from credit.core.quotes import half_up

PERIOD_DAYS, MONTHS_WITHOUT_INFORMATION, REPAY_DAYS = 14, 12, 30
# Earlier agreements follow Directive 2008/48/EC (Art. 47).
APPLIES_FROM = date(2026, 11, 20)
_DAYS_A_YEAR = {"act_365": 365, "30_360": 360}
_SATURDAY = 5


def period_end(
    countries: Iterable[str],
    *,
    concluded_at: datetime,
    complete_since: datetime | None,
    told_of_right_at: datetime | None,
) -> datetime | None:
    """Return the end of the withdrawal period in UTC, or None if the period has no end.

    Withdrawals before the end are in time.

    The period is 14 calendar days from the conclusion of the agreement. If the borrower received the complete
    information later, the 14 days start then. If the information is still incomplete, the period ends 12 months and 14
    days after the conclusion of the agreement. If the borrower was never informed of the right, the period has no end.
    For borrowers in several countries, the latest end applies.
    """
    last_days = (
        (zones, country, _last_day(zones, concluded_at, complete_since, told_of_right_at))
        for country in {*countries} or {""}
        for zones in [zones_of(country)]
    )
    ends = [_end_of(last, zones, country) for zones, country, last in last_days if last is not None]
    return max(ends, default=None)


def _last_day(
    zones: list[ZoneInfo], concluded_at: datetime, complete_since: datetime | None, told_of_right_at: datetime | None
) -> date | None:
    """Return the last day of the period, or None if the period has no end. Weekends and holidays are not considered."""
    concluded = _day_in(zones, concluded_at)
    if told_of_right_at is None or (complete_since is None and concluded < APPLIES_FROM):
        return None
    period = timedelta(days=PERIOD_DAYS)
    last_day = max(concluded, _day_in(zones, told_of_right_at)) + period
    ceiling = max(in_month(month_of(concluded) + MONTHS_WITHOUT_INFORMATION, concluded.day) + period, last_day)
    if complete_since is None:
        return ceiling
    last = max(last_day, _day_in(zones, complete_since) + period)
    # The period ended before the information was complete.
    is_late = concluded >= APPLIES_FROM and last - period > ceiling
    return ceiling if is_late else last


def _day_in(zones: list[ZoneInfo], moment: datetime) -> date:
    """Return the date of a point in time in the easternmost zone."""
    return max(moment.astimezone(zone).date() for zone in zones)


def _end_of(last: date, zones: list[ZoneInfo], country: str) -> datetime:
    """Return the end of the last day in the westernmost zone.

    If the last day is not a working day, the period ends on the next working day.

    The rule is Regulation (EEC) 1182/71, Art. 3(4).
    """
    while last.weekday() >= _SATURDAY or last in public_holidays(country, last.year):
        last += timedelta(days=1)
    midnight = datetime.combine(last + timedelta(days=1), time())
    return max(midnight.replace(tzinfo=zone).astimezone(UTC) for zone in zones)


def public_holidays(country: str, year: int) -> set[date]:
    """Return the nationwide public holidays of a country, or an empty set if they are unknown."""
    try:
        return set(country_holidays(country, years=year))
    except NotImplementedError:
        return set()


def last_day_of(end: datetime, countries: Iterable[str]) -> date:
    """Return the last day of a period that ends at `end`, as a date in the westernmost zone of the countries."""
    zones: Iterator[ZoneInfo] = (zone for country in {*countries} or {""} for zone in zones_of(country))
    return min((end - timedelta(microseconds=1)).astimezone(zone).date() for zone in zones)


def repay_by(declared_at: datetime, countries: Iterable[str]) -> date:
    """Return the last day for repayment: 30 calendar days after the declaration was sent."""
    days = [_day_in(zones_of(country), declared_at) for country in {*countries} or {""}]
    return max(days) + timedelta(days=REPAY_DAYS)


def interest(amount: int, rate_percent: Decimal, *, day_count: str, days: int = 1) -> int:
    """Return the interest on an amount in minor units, rounded half up.

    Depending on `day_count`, a year has 365 or 360 days.
    """
    return half_up(Decimal(amount) * rate_percent * days / (100 * _DAYS_A_YEAR[day_count]))
