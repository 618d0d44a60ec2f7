"""Deadlines as people read them: a moment in the time zone of their state or country, with the zone's name.

A day alone deceives: what ends on February 20 at 00:30 UTC has ended in America before that day begins.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import formats, timezone
from django.utils.translation import gettext

from credit.core.applicants import Applicants

# The zone of most people in a US state or territory (49 CFR 71), and of a country's capital (IANA zone.tab).
_STATES = {
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
}
_COUNTRIES = {
    "AE": "Asia/Dubai", "AT": "Europe/Vienna", "BE": "Europe/Brussels", "BG": "Europe/Sofia", "CH": "Europe/Zurich",
    "CN": "Asia/Shanghai", "CO": "America/Bogota", "CY": "Asia/Nicosia", "CZ": "Europe/Prague", "DE": "Europe/Berlin",
    "DK": "Europe/Copenhagen", "EE": "Europe/Tallinn", "EG": "Africa/Cairo", "ES": "Europe/Madrid",
    "FI": "Europe/Helsinki", "FR": "Europe/Paris", "GB": "Europe/London", "GH": "Africa/Accra", "GR": "Europe/Athens",
    "GU": "Pacific/Guam", "HK": "Asia/Hong_Kong", "HR": "Europe/Zagreb", "HU": "Europe/Budapest",
    "IE": "Europe/Dublin", "IL": "Asia/Jerusalem", "IN": "Asia/Kolkata", "IT": "Europe/Rome", "JM": "America/Jamaica",
    "JP": "Asia/Tokyo", "KE": "Africa/Nairobi", "KR": "Asia/Seoul", "LT": "Europe/Vilnius",
    "LU": "Europe/Luxembourg", "LV": "Europe/Riga", "MT": "Europe/Malta", "NG": "Africa/Lagos",
    "NL": "Europe/Amsterdam", "NO": "Europe/Oslo", "NP": "Asia/Kathmandu", "PA": "America/Panama",
    "PE": "America/Lima", "PH": "Asia/Manila", "PK": "Asia/Karachi", "PL": "Europe/Warsaw",
    "PR": "America/Puerto_Rico", "PT": "Europe/Lisbon", "RO": "Europe/Bucharest", "SE": "Europe/Stockholm",
    "SG": "Asia/Singapore", "SI": "Europe/Ljubljana", "SK": "Europe/Bratislava", "TH": "Asia/Bangkok",
    "TR": "Europe/Istanbul", "TW": "Asia/Taipei", "UA": "Europe/Kyiv", "VN": "Asia/Ho_Chi_Minh",
    "ZA": "Africa/Johannesburg",
}  # fmt: skip
_ZONE_OF_STATE = {state: zone for zone, states in _STATES.items() for state in states.split()}


def zone_of(applicants: Any) -> str:
    """Return the IANA name of the zone of the first applicant's state or country, UTC if that is not known."""
    return _zone_of(applicants.persons[0] if isinstance(applicants, Applicants) and applicants.persons else {})


def tzinfo_of(applicants: Any) -> tzinfo:
    """Return the zone of `zone_of`, UTC on a machine that does not know it."""
    return _zone(zone_of(applicants))


def today_of(person: Mapping[str, Any]) -> date:
    """Return today's date where a person lives, in UTC if that is not known."""
    return timezone.localdate(timezone=_zone(_zone_of(person)))


def _zone_of(person: Mapping[str, Any]) -> str:
    where = person.get("address") or {}
    region = (where.get("region") or "").strip().upper()
    of_state = _ZONE_OF_STATE.get(region) if where.get("country") == "US" else None
    return of_state or _COUNTRIES.get(where.get("country") or "", "UTC")


def in_words(moment: datetime, zone: str) -> str:
    """Return an aware moment as `February 19, 2028, 7:30 p.m. EST` in the language of the moment."""
    local = moment.astimezone(_zone(zone))
    # Translators: a day as Django's `date` filter writes it.
    day = formats.date_format(local, gettext("F j, Y"))
    # Translators: a time of day as Django's `date` filter writes it.
    time = formats.date_format(local, gettext("g:i a"))
    return f"{day}, {time} {_label(local)}"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:  # a machine without the time zone database
        return UTC


def _label(local: datetime) -> str:
    """Return the zone's abbreviation, or its offset where it has none, such as `UTC-05:00`."""
    name = local.tzname() or ""
    return name if name.isalpha() else f"UTC{local:%z}"[:6] + ":" + f"{local:%z}"[3:5]
