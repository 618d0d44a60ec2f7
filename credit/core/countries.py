"""Country codes (ISO 3166-1 alpha-2, XK for Kosovo), required fields of addresses by country, and US states."""

from collections.abc import Iterable
from functools import cache
from typing import Any
from unicodedata import combining, normalize

from django.utils.translation import gettext_lazy as _
from holidays import country_holidays

_CODES = """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD
GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH
KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW
MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC
SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY
UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
"""
COUNTRIES = tuple(_CODES.split())

# The postal services of these countries require a postal code (UPU addressing sheets). About sixty countries have no
# postal codes, and in others many residents do not know their postal code.
_POSTAL_CODES = """
AT AU BE BR CA CH CN CZ DE DK EE ES FI FR GB GR HU IN IT JP KR LT LU LV MX NL NO NZ PL PR PT RU SE SG SI SK TR TW UA US
ZA
"""
WITH_POSTAL_CODE = frozenset(_POSTAL_CODES.split())
# Addresses in these countries have no city field, because the country is a city, or because another line contains the
# city. The list comes from libaddressinput, a companion of CLDR: its required fields lack C.
WITHOUT_CITY = frozenset(["AE", "GI", "HK", "JP", "KY", "MO", "NR", "SG"])
WITH_CITY = frozenset(COUNTRIES) - WITHOUT_CITY
# Addresses in these countries have a state, province, or prefecture. Other countries never require `address.region`.
_REGIONS = "AU BR CA CN ES IN IT JP KR MX MY RU TW US"
WITH_REGION = frozenset(_REGIONS.split())

# These are the codes of the states, the District of Columbia, and the territories.
_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI"
)
US_STATES = frozenset(_STATES.split())
# The states and the armed forces (AA, AE, AP) by the first digit of a ZIP code. DC, NY, and TX have two digits.
_STATES_BY_ZIP = (
    "AE CT MA ME NH NJ NY PR RI VI VT", "DE NY PA", "DC MD NC SC VA WV", "AA AL FL GA MS TN", "IN KY MI OH",
    "DC IA MN MT ND SD WI", "IL KS MO NE", "AR LA OK TX", "AZ CO ID NM NV TX UT WY", "AK AP AS CA GU HI MP OR WA",
)  # fmt: skip
# `states_of` lists the states of these countries, and the armed forces that have postal codes of the country.
_ARMED_FORCES: dict[str, dict[str, Any]] = {
    "US": {"AA": _("Armed Forces Americas"), "AE": _("Armed Forces Europe"), "AP": _("Armed Forces Pacific")},
    "CA": {},
}


def can_have_zip(state: str, zip_code: str) -> bool:
    """Return whether the first digit of a ZIP code occurs in the US state with this code."""
    return state in _STATES_BY_ZIP[int(zip_code[0])].split()


def state_code(country: str, region: str | None) -> str:
    """Return the code of a state from its name or its code, or the region in upper case if it is unknown."""
    # A region can be an ISO 3166-2 code, such as US-OR.
    plain = _plain(region or "").removeprefix(f"{country}-")
    return _states_by_name(country).get(plain, plain)


@cache
def _states_by_name(country: str) -> dict[str, str]:
    return {_plain(name): code for name, code in country_holidays(country).subdivisions_aliases.items()}


def states_in_words(codes: Iterable[str]) -> str:
    """Return the names of US states, sorted and joined by commas. An unknown code is returned unchanged."""
    return ", ".join(sorted(str(states_of("US").get(code, code)) for code in codes))


@cache
def states_of(country: str) -> dict[str, Any]:
    """Return the names of the US states or of the Canadian provinces by code, sorted by name.

    For other countries, the result is empty.
    """
    if country not in _ARMED_FORCES:
        return {}
    # Canadian provinces have a French name after the English name.
    names = {code: name for name, code in reversed(country_holidays(country).subdivisions_aliases.items())}
    known = {code: names[code] for code in sorted(names, key=names.__getitem__) if country != "US" or code in US_STATES}
    return known | _ARMED_FORCES[country]


def _plain(region: str) -> str:
    """Convert a region to upper case, without accents, periods, and surrounding spaces."""
    letters = normalize("NFKD", region).replace(".", "")
    return "".join(letter for letter in letters if not combining(letter)).strip().upper()
