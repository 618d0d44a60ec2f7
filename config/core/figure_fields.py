"""Form fields that accept numbers and amounts with the separators of the page's language."""

import re
import unicodedata
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext

from config.core.currencies import exponent_of, separators

_BLANKS = " '\u2019"
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_ARABIC_GROUP, _ARABIC_POINT = 0x066C, 0x066B


def as_typed(value: Decimal | float, currency: str | None) -> str:
    """Format a number as a user would type it in a `FigureField` of the currency."""
    return f"{Decimal(str(value)):f}".replace(".", separators(currency)[1])


class FigureField(forms.DecimalField):
    """A form field for numbers such as `8,000`, `$8,000.50`, and `7.25 %`, or on a German page `8.000,50 EUR`.

    A misplaced separator is an error, because `8,5` and `8.000` have different meanings in different countries.
    """

    widget = forms.TextInput(attrs={"inputmode": "decimal"})

    def __init__(self, *, sign: str = "", currency: str | None = None, **options: Any) -> None:
        """Accept `sign` with the number: `$` before the number, `%` after it, or `EUR` on either side.

        With a currency, the separators depend on the page's language. Without a currency, the separators of US English
        apply.
        """
        super().__init__(**options)
        self.sign, self.currency = sign, currency

    def prepare_value(self, value: Any) -> Any:
        return as_typed(value, self.currency) if type(value) in {Decimal, int, float} else value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            is_raised = any(unicodedata.category(letter) == "No" for letter in value)
            signs = " ".join(unicodedata.normalize("NFKC", value).split())
            value = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in signs)
            value = (value if self.sign == "%" else value.removeprefix(self.sign)).removesuffix(self.sign).strip()
            group, point = separators(self.currency)
            value = value.translate({_ARABIC_GROUP: group, _ARABIC_POINT: point})
            blanks, decimals = re.escape(group + _BLANKS), rf"(?:{re.escape(point)}\d*)?"
            if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}([{blanks}])\d{{3}}(?:\1\d{{3}})*{decimals}", value):
                value = re.sub(f"[{blanks}]", "", value)
            elif is_raised or re.search(f"[{blanks}]", value) or value.count(point) > 1:
                raise self._misread()
            value = value.replace(point, ".")
            if _DIGIT.search(value) and not _NUMBER.fullmatch(value):
                raise self._misread()
        return super().to_python(value)

    def _misread(self) -> forms.ValidationError:
        group, point = separators(self.currency)
        text = gettext("Enter a number such as %s. Use the same separators for thousands and decimals.")
        return forms.ValidationError(text % (f"8{group}000" if self.decimal_places == 0 else f"8{group}000{point}50"))


class AmountField(FigureField):
    """A form field for an amount in units of a currency. The currency None means US dollars with `$`.

    `to_minor_units` converts the input.
    """

    def __init__(self, currency: str | None, **options: Any) -> None:
        options = {"decimal_places": exponent_of(currency), "sign": currency or "$", **options}
        super().__init__(currency=currency, **options)

    def to_python(self, value: Any) -> Any:
        """Parse the input. An amount with too many decimal places, such as `8.000`, has a misplaced separator."""
        number = super().to_python(value)
        if number is not None and number.is_finite() and -number.as_tuple().exponent > (self.decimal_places or 0):
            raise self._misread()
        return number
