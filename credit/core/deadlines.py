"""Display deadlines as a date and time in the time zone of the applicant's state or country.

A date alone is misleading: February 20 at 00:30 UTC is February 19 in America.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from babel.core import get_global
from django.utils import timezone

from config.core.time_zones import moment_in_words
from credit.core.applicants import Applicants
from credit.core.countries import state_code
from credit.core.figures import date_in_words

# For each country, this maps a time zone to the regions where most residents use it. The US zones follow 49 CFR 71.
_ZONES = {
    "US": {
        "America/New_York": "CT DC DE FL GA IN KY MA MD ME MI NC NH NJ NY OH PA RI SC VA VT WV",
        "America/Chicago": "AL AR IA IL KS LA MN MO MS ND NE OK SD TN TX WI",
        "America/Denver": "CO ID MT NM UT WY",
        "America/Phoenix": "AZ",
        "America/Los_Angeles": "CA NV OR WA",
        "America/Anchorage": "AK",
        "Pacific/Honolulu": "HI",
        "America/Puerto_Rico": "PR VI",
        "Pacific/Guam": "GU MP",
        "Pacific/Pago_Pago": "AS",
    },
    "AU": {
        "Australia/Sydney": "ACT NSW",
        "Australia/Melbourne": "VIC",
        "Australia/Hobart": "TAS",
        "Australia/Brisbane": "QLD",
        "Australia/Adelaide": "SA",
        "Australia/Darwin": "NT",
        "Australia/Perth": "WA",
    },
    "BR": {
        "America/Sao_Paulo": "AL AP BA CE DF ES GO MA MG PA PB PE PI PR RJ RN RS SC SE SP TO",
        "America/Manaus": "AM MS MT RO RR",
        "America/Rio_Branco": "AC",
    },
    "CA": {
        "America/Toronto": "NU ON QC",
        "America/Halifax": "NB NS PE",
        "America/St_Johns": "NL",
        "America/Winnipeg": "MB",
        "America/Regina": "SK",
        "America/Edmonton": "AB NT",
        "America/Vancouver": "BC",
        "America/Whitehorse": "YT",
    },
}
# These countries have several zones. The value is the zone of most residents.
_MAIN = {
    "CL": "America/Santiago", "CN": "Asia/Shanghai", "EC": "America/Guayaquil", "ES": "Europe/Madrid",
    "FM": "Pacific/Pohnpei", "GL": "America/Nuuk", "KI": "Pacific/Tarawa", "MN": "Asia/Ulaanbaatar",
    "NZ": "Pacific/Auckland", "PF": "Pacific/Tahiti", "PG": "Pacific/Port_Moresby", "PT": "Europe/Lisbon",
    "UA": "Europe/Kyiv", "XK": "Europe/Belgrade",
}  # fmt: skip
UNKNOWN = "UTC"  # applicants without a known zone get this zone
_ZONE_OF_STATE = {
    (country, state): zone for country, zones in _ZONES.items() for zone, states in zones.items()
    for state in states.split()
}  # fmt: skip


def zone_of(applicants: Any) -> str:
    """Return the IANA time zone of the first applicant's state or country, or UTC if it is unknown."""
    return _zone_of(applicants.persons[0] if isinstance(applicants, Applicants) and applicants.persons else {})


def tzinfo_of(applicants: Any) -> tzinfo:
    """Return the time zone of `zone_of`, or UTC on a machine without the time zone database."""
    return _zone(zone_of(applicants))


def today_of(person: Mapping[str, Any]) -> date:
    """Return today's date in the time zone of a person's address, or in UTC if the zone is unknown."""
    return timezone.localdate(timezone=_zone(_zone_of(person)))


def _zone_of(person: Mapping[str, Any]) -> str:
    where = person.get("address") or {}
    country = where.get("country") or ""
    if country in _ZONES:
        return _ZONE_OF_STATE.get((country, state_code(country, where.get("region"))), UNKNOWN)
    return _MAIN.get(country) or _only_zone_of(country)


@lru_cache(maxsize=300)
def zones_of(country: str) -> list[ZoneInfo]:
    """Return the time zones of a country (ISO 3166-1 code), or UTC if no zone is known."""
    known = available_timezones()
    names = [name for name, code in get_global("zone_territories").items() if code == country and name in known]
    return [ZoneInfo(name) for name in names or ["UTC"]]


@lru_cache(maxsize=300)
def _only_zone_of(country: str) -> str:
    """Return the zone of a country if all its zones have the same local time, otherwise UTC."""
    if not available_timezones():
        return UNKNOWN
    zones = zones_of(country)
    months = [datetime(2028, month, 15, tzinfo=UTC) for month in range(1, 13)]
    clocks = {tuple(moment.astimezone(zone).utcoffset() for moment in months) for zone in zones}
    return min(zone.key for zone in zones) if len(clocks) == 1 else UNKNOWN


def in_words(moment: datetime, zone: str) -> str:
    """Format an aware datetime in the active language, such as `February 19, 2028, 7:30 p.m. EST`."""
    return moment_in_words(moment.astimezone(_zone(zone)))


def day_in_words(moment: datetime, zone: str) -> str:
    """Format the day of an aware datetime in a time zone, in the active language."""
    return date_in_words(moment.astimezone(_zone(zone)))


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        # The machine has no time zone database.
        return UTC
