"""The values of an applicant's fields in the active language."""

import re

from django.utils.translation import get_language_info

from config.core.json_text import day_of
from credit.core.country_names import country_name
from credit.core.figures import date_in_words


def applicant_value(path: str, value: str) -> str:
    """Return the value of the field at `path`: countries, languages, and days in words, other values unchanged."""
    if path == "address.country":
        return country_name(value)
    if path == "date_of_birth" and (day := day_of(value)) is not None:
        return date_in_words(day)
    return translated_language(value) if path == "language" else value


def translated_language(tag: str) -> str:
    """Return the name of a language in the active language, or the tag if it has no name."""
    try:
        return str(get_language_info(re.split("[-_]", tag)[0].lower())["name_translated"])
    except KeyError:
        return tag
