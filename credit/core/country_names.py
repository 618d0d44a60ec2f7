"""Names of countries and languages from the Unicode CLDR."""

from babel import Locale, UnknownLocaleError
from django.utils.translation import get_language


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
