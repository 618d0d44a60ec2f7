"""Names of countries and languages from the Unicode CLDR, and the values of an applicant's fields in words."""

import re
from collections.abc import Mapping
from typing import Any

from babel import Locale, UnknownLocaleError
from django.utils.translation import get_language, get_language_info

from config.core.json_text import day_of
from credit.core.countries import states_of
from credit.core.figures import date_in_words

# A phone number in E.164 with the country code 1.
_NORTH_AMERICAN = re.compile(r"^\+1([0-9]{3})([0-9]{3})([0-9]{4})$")


def country_name(code: str) -> str:
    """Return a country's name in the active language, or the code if it has no name."""
    return str(Locale.parse(get_language() or "en", sep="-").territories.get(code, code))


def language_name(tag: str) -> str:
    """Return the name of a language in that language, such as `Español`, or the tag if it is unknown."""
    try:
        name = Locale.parse(tag, sep="-").get_display_name()
    except (UnknownLocaleError, ValueError):
        name = None
    return tag if name is None else name[:1].upper() + name[1:]


def applicant_value(path: str, value: str, country: str | None = None) -> str:
    """Return the value of the field at `path` in words. `country` is the country of the applicant's address.

    Countries, languages, and days become words. With `country`, US states and Canadian provinces become words. A North
    American phone number becomes groups of digits. Other values are unchanged.
    """
    if path == "address.country":
        return country_name(value)
    if path == "address.region":
        return str(states_of(country or "").get(value, value))
    if path == "phone":
        return _NORTH_AMERICAN.sub(r"+1 \1 \2 \3", value)
    if path == "date_of_birth" and (day := day_of(value)) is not None:
        return date_in_words(day)
    return translated_language(value) if path == "language" else value


def translated_language(tag: str) -> str:
    """Return the name of a language in the active language, or the tag if it has no name."""
    try:
        return str(get_language_info(re.split("[-_]", tag)[0].lower())["name_translated"])
    except KeyError:
        return tag


def address_lines(where: Mapping[str, Any]) -> list[str]:
    """Return the lines of an applicant's postal address. The country is in the active language."""
    city, country = where.get("city"), where["country"]
    if city and country == "US":
        city = f"{city},"
    town = " ".join(filter(None, (city, where.get("region"), where.get("postal_code"))))
    return [*filter(None, (where["line1"], where.get("line2"), town, country_name(country)))]
