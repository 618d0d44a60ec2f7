"""Codes and decimal places of ISO 4217 currencies, and localized amounts."""

from datetime import date
from decimal import Decimal
from functools import cache

from babel.core import get_global
from babel.numbers import (
    format_currency,
    format_decimal,
    get_decimal_symbol,
    get_group_symbol,
    get_territory_currencies,
)
from django.utils.translation import get_language

_WITHOUT_MINOR_UNIT = frozenset(
    {
        "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF",
        "XPF",
    }
)  # fmt: skip
_EXPONENTS = {"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3, "CLF": 4, "UYW": 4}
_PATTERNS = {0: "#,##0", 2: "#,##0.00", 3: "#,##0.000", 4: "#,##0.0000"}


def exponent_of(currency: str | None) -> int:
    """Return a currency's number of decimal places. For codes that ISO 4217 does not list, return 2."""
    code = (currency or "").upper()
    return 0 if code in _WITHOUT_MINOR_UNIT else _EXPONENTS.get(code, 2)


@cache
def currencies_in_use() -> frozenset[str]:
    """Return the currencies that are legal tender in any country on the day of the first call."""
    today = date.today()  # noqa: DTZ011  the time zone does not matter for this list
    return frozenset(
        code
        for territory in get_global("territory_currencies")
        for code in get_territory_currencies(territory, start_date=today)
    )


@cache
def with_other_places() -> dict[int, frozenset[str]]:
    """Return `{decimal places: currency codes}` for all currencies without 2 decimal places."""
    places = {code: exponent_of(code) for code in (*_WITHOUT_MINOR_UNIT, *_EXPONENTS)}
    return {number: frozenset(code for code in places if places[code] == number) for number in {*places.values()}}


def to_units(minor_units: int | None, currency: str | None) -> Decimal | None:
    """Convert minor units to units, with all decimal places of the currency. None returns None."""
    return None if minor_units is None else Decimal(minor_units).scaleb(-exponent_of(currency))


def to_minor_units(units: Decimal, currency: str | None) -> Decimal:
    """Convert units to minor units. The result is a fraction if the amount has too many decimal places."""
    return units.scaleb(exponent_of(currency))


def separators(currency: str | None) -> tuple[str, str]:
    """Return the thousands separator and the decimal separator of the active language.

    If `currency` is None, return the separators of US English.
    """
    locale = "en" if currency is None else _locale()
    return get_group_symbol(locale), get_decimal_symbol(locale)


def _locale() -> str:
    return (get_language() or "en").replace("-", "_")


def number_in_words(value: Decimal | float) -> str:
    """Format a number for the active language, without rounding: "18.8", "18,8"."""
    return str(format_decimal(Decimal(str(value)), locale=_locale(), decimal_quantization=False))


def percent_in_words(number: object) -> str:
    """Format a number with the percent sign for the active language: "6.9%", "6,9 %"."""
    return f"{number}%" if _locale().startswith("en") else f"{number}\u00a0%"


def amount_in_words(minor_units: int, currency: str) -> str:
    """Format an amount for the active language, with the currency's code: "10,000.00 EUR", "10.000,00 EUR".

    Several currencies share a symbol, so the text contains the code.
    """
    exponent = exponent_of(currency)
    amount = Decimal(minor_units).scaleb(-exponent)
    pattern = f"{_PATTERNS[exponent]}\u00a0¤¤"
    return str(format_currency(amount, currency, pattern, locale=_locale(), currency_digits=False))
