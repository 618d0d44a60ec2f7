"""Fields of forms for numbers."""

import re
import unicodedata
from typing import Any

from django import forms
from django.utils.translation import gettext

_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:(?P<separator>[, '\u2019])\d{3})(?:(?P=separator)\d{3})*(?:\.\d*)?")


class FigureField(forms.DecimalField):
    """A number as people type it in US English: `8,000`, `$8,000.50`, `7.25 %`, `8 000`.

    A comma or blank that does not separate thousands is refused in words, because `8,5` is 8.5 to some people.
    """

    widget = forms.TextInput(attrs={"inputmode": "decimal"})

    def __init__(self, *, sign: str = "", **options: Any) -> None:
        """`sign` is what people may type with the number: `$` before it, `%` behind it, `EUR` on either side."""
        super().__init__(**options)
        self.sign = sign

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            is_raised = any(unicodedata.category(letter) == "No" for letter in value)
            value = " ".join(unicodedata.normalize("NFKC", value).split())
            value = (value if self.sign == "%" else value.removeprefix(self.sign)).removesuffix(self.sign).strip()
            if _GROUPED.fullmatch(value):
                value = re.sub("[, '\u2019]", "", value)
            elif is_raised or re.search(r"[, '\u2019]", value) or value.count(".") > 1:
                raise forms.ValidationError(
                    gettext("Enter a number such as 8,000.50: commas separate thousands, a point separates decimals.")
                )
        return super().to_python(value)
