"""Test deadlines in the time zone of a person's state or country, and compare the zones with IANA's zones."""

from datetime import date, datetime
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext
from holidays import country_holidays

from credit.core import deadlines
from credit.core.applicants import Applicants
from credit.core.countries import COUNTRIES, US_STATES


def applicants(country, region=None):
    return Applicants([{"address": {"country": country, "region": region}}], b"")


def words(moment, *where, language="en"):
    with translation.override(language):
        return deadlines.in_words(datetime.fromisoformat(moment), deadlines.zone_of(applicants(*where)))


SHOWN = [
    (("US", "CA"), "2028-02-20T00:30:00Z", "February 19, 2028, 4:30 p.m. PST"),
    (("US", "NY"), "2028-02-20T00:30:00Z", "February 19, 2028, 7:30 p.m. EST"),
    (("US", "ny"), "2028-07-01T03:59:59Z", "June 30, 2028, 11:59 p.m. EDT"),
    (("US", "IL"), "2028-03-12T08:00:00Z", "March 12, 2028, 3:00 a.m. CDT"),
    (("US", "AZ"), "2028-07-01T06:59:00Z", "June 30, 2028, 11:59 p.m. MST"),
    (("US", "HI"), "2028-02-20T09:59:59Z", "February 19, 2028, 11:59 p.m. HST"),
    (("US", "AK"), "2028-02-20T00:00:00Z", "February 19, 2028, 3:00 p.m. AKST"),
    (("US", "GU"), "2028-02-20T00:00:00Z", "February 20, 2028, 10:00 a.m. ChST"),
    (("US", "PR"), "2028-02-20T03:00:00Z", "February 19, 2028, 11:00 p.m. AST"),
    (("US", None), "2028-02-20T00:30:00Z", "February 20, 2028, 12:30 a.m. UTC"),
    (("US", "Elsewhere"), "2028-02-20T00:30:00Z", "February 20, 2028, 12:30 a.m. UTC"),
    (("DE", "CA"), "2028-02-19T23:30:00Z", "February 20, 2028, 12:30 a.m. CET"),
    (("GB", None), "2028-06-19T23:30:00Z", "June 20, 2028, 12:30 a.m. BST"),
    (("IN", None), "2028-02-19T18:29:00Z", "February 19, 2028, 11:59 p.m. IST"),
    (("NP", None), "2028-02-19T18:15:00Z", "February 20, 2028, 12:00 a.m. UTC+05:45"),
    (("CO", None), "2028-02-20T04:59:00Z", "February 19, 2028, 11:59 p.m. UTC-05:00"),
    (("JP", None), "2028-02-19T15:00:00Z", "February 20, 2028, 12:00 a.m. JST"),
    (("BR", None), "2028-02-20T00:30:00Z", "February 20, 2028, 12:30 a.m. UTC"),
    (("US", "California"), "2028-02-20T00:30:00Z", "February 19, 2028, 4:30 p.m. PST"),
    (("US", "new york "), "2028-02-20T00:30:00Z", "February 19, 2028, 7:30 p.m. EST"),
    (("BD", None), "2028-02-19T18:30:00Z", "February 20, 2028, 12:30 a.m. UTC+06:00"),
    (("LK", None), "2028-02-19T18:30:00Z", "February 20, 2028, 12:00 a.m. UTC+05:30"),
    (("IS", None), "2028-07-01T00:00:00Z", "July 1, 2028, 12:00 a.m. GMT"),
    (("RS", None), "2028-06-30T22:00:00Z", "July 1, 2028, 12:00 a.m. CEST"),
    (("XK", None), "2028-06-30T22:00:00Z", "July 1, 2028, 12:00 a.m. CEST"),
    (("NZ", None), "2028-01-31T11:00:00Z", "February 1, 2028, 12:00 a.m. NZDT"),
    (("CL", None), "2028-07-01T04:00:00Z", "July 1, 2028, 12:00 a.m. UTC-04:00"),
    (("UY", None), "2028-07-01T03:00:00Z", "July 1, 2028, 12:00 a.m. UTC-03:00"),
    (("ES", None), "2028-06-30T22:00:00Z", "July 1, 2028, 12:00 a.m. CEST"),
    (("AU", "NSW"), "2028-02-28T13:30:00Z", "February 29, 2028, 12:30 a.m. AEDT"),
    (("AU", "South Australia"), "2028-02-29T13:29:00Z", "February 29, 2028, 11:59 p.m. ACDT"),
    (("CA", "NL"), "2028-03-01T03:29:00Z", "February 29, 2028, 11:59 p.m. NST"),
    (("CA", "Quebec"), "2028-02-20T00:30:00Z", "February 19, 2028, 7:30 p.m. EST"),
    (("CA", None), "2028-02-20T00:30:00Z", "February 20, 2028, 12:30 a.m. UTC"),
    (("BR", "sao paulo"), "2028-02-20T00:30:00Z", "February 19, 2028, 9:30 p.m. UTC-03:00"),
    (("US", "D.C."), "2028-02-20T00:30:00Z", "February 19, 2028, 7:30 p.m. EST"),
    (("US", "US-TX"), "2028-02-20T00:30:00Z", "February 19, 2028, 6:30 p.m. CST"),
    (("KI", None), "2028-02-28T12:00:00Z", "February 29, 2028, 12:00 a.m. UTC+12:00"),
]  # fmt: skip


def test_deadline_is_displayed_in_the_applicants_time_zone_and_language():
    assert [(where, moment, words(moment, *where)) for where, moment, _shown in SHOWN] == SHOWN
    assert words("2028-02-20T00:30:00Z", "US", "TX", language="es") == "19 de febrero de 2028, 6:30 p.m. CST"


@pytest.mark.parametrize(("language", "expected"), [
    ("en", "December 30, 2026; Dec 30, 2026"),
    ("es", "30 de diciembre de 2026; 30 dic 2026"),
    ("de", "30. Dezember 2026; 30.12.2026"),
])  # fmt: skip
def test_month_names_are_spelled_as_the_language_requires(language, expected):
    with translation.override(language):
        forms = (gettext("F j, Y"), gettext("M j, Y"))
        assert "; ".join(date_format(date(2026, 12, 30), form) for form in forms) == expected


def test_deadline_without_an_applicant_or_a_time_zone_database_is_displayed_in_utc():
    assert {deadlines.zone_of(nobody) for nobody in (None, Applicants([], b""), object())} == {"UTC"}
    with patch.object(deadlines, "ZoneInfo", side_effect=deadlines.ZoneInfoNotFoundError):
        assert words("2028-02-20T00:30:00Z", "US", "CA") == "February 20, 2028, 12:30 a.m. UTC"


def test_every_country_and_state_has_an_existing_time_zone():
    # `NSW Western` is a part of a state, not a state.
    states = {
        country: set(country_holidays(country).subdivisions_aliases.values()) - {"NSW Western"}
        for country in ("AU", "BR", "CA")
    }
    states["US"] = US_STATES
    zones = {deadlines.zone_of(applicants(country, state)) for country in states for state in states[country]}
    assert "UTC" not in zones
    for name in zones | {deadlines.zone_of(applicants(country)) for country in COUNTRIES}:
        assert ZoneInfo(name), name
