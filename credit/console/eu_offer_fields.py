"""The fields of EU credit in the console's form of an offer."""

from typing import Any

from django import forms

from config.core.currencies import to_minor_units, to_units
from config.core.figure_fields import AmountField, FigureField
from credit.core.apr import APR_MAX_PERCENT, RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.eu_credit import DOES_NOT_APPLY, REGIMES, REQUIRED_TEXTS, TEXT_MAX_LENGTH, TEXTS_OF_LINE
from credit.core.jurisdictions import DAY_COUNTS, EU, US

TITLE = "Credit in the European Union"
_EXAMPLE = {"amount_cents": "example_amount", "months": "example_months", "rate_percent": "example_rate"}
_EXAMPLE["fee_cents"] = "example_fee"
_FEE = {"yes": True, "no": False}
_PLAIN = ("regime", "regime_reason", "day_count", "terms_text")
_TERMS = (*_PLAIN, "jurisdiction", "currency", "fee_financed", "apr_cap", "example", "texts")
_TEXTS = (*REQUIRED_TEXTS, *TEXTS_OF_LINE)
_LONG = forms.Textarea(attrs={"rows": 2})


def _choice(label: str, *choices: tuple[str, str]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=[("", "—"), *choices], required=False)


def eu_fields(currency: str | None) -> dict[str, forms.Field]:
    """Return the fields by name. All are optional, because offers under US law leave them empty."""
    amount: dict[str, Any] = {"required": False, "min_value": 0}
    months: dict[str, Any] = {"min_value": 1, "max_value": TERM_MAX_MONTHS, "decimal_places": 0, "required": False}
    rate: dict[str, Any] = {"sign": "%", "min_value": 0, "required": False}
    laws = [(US, "United States"), (EU, "European Union")]
    return {
        "jurisdiction": forms.ChoiceField(label="Law", choices=laws, initial=US, required=False),
        "regime": _choice("Directive (EU) 2023/2225", *((regime, regime) for regime in REGIMES)),
        "regime_reason": forms.CharField(label="Why the regime applies", max_length=500, required=False),
        "currency": forms.CharField(
            label="Currency of all amounts", max_length=3, required=False, help_text="Such as EUR, the default."
        ),
        "day_count": _choice("Day-count basis", *((count, count.replace("_", "/")) for count in DAY_COUNTS)),
        "fee_financed": _choice(
            "Fee", ("yes", "The lender deducts it from the payout"), ("no", "The borrower pays it separately")
        ),
        "apr_cap": FigureField(label="Highest legal APR", max_value=APR_MAX_PERCENT, **rate),
        "example_amount": AmountField(currency, label="Example: amount", **amount),
        "example_months": FigureField(label="Example: months", **months),
        "example_rate": FigureField(label="Example: rate, percent per year", max_value=RATE_MAX_PERCENT, **rate),
        "example_fee": AmountField(currency, label="Example: fee", **amount),
        "terms_text": forms.CharField(
            label="Explanation of the terms (Article 12)", max_length=TEXT_MAX_LENGTH, required=False, widget=_LONG
        ),
        **{
            f"text_{name}": forms.CharField(
                label=f"Text: {name.replace('_', ' ')}", max_length=TEXT_MAX_LENGTH, required=False, widget=_LONG,
                help_text=f"“{DOES_NOT_APPLY}” is a value.",
            )
            for name in _TEXTS
        },
    }  # fmt: skip


def eu_initial(terms: dict[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the initial values of the fields, from an offer's terms."""
    example, texts = terms.get("example") or {}, terms.get("texts") or {}
    fee = next((word for word, value in _FEE.items() if value == terms.get("fee_financed")), "")
    values = {
        name: to_units(example.get(member), currency) if member.endswith("_cents") else example.get(member)
        for member, name in _EXAMPLE.items()
    }
    return {
        **{name: terms.get(name) or "" for name in _PLAIN},
        "jurisdiction": terms.get("jurisdiction") or US,
        "apr_cap": terms.get("apr_cap"),
        "fee_financed": fee,
        **values,
        **{f"text_{name}": texts.get(name, "") for name in _TEXTS},
    }


def eu_terms(cleaned: dict[str, Any], before: dict[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the terms of the submitted fields. Under US law all are null; texts without a field don't change."""
    if cleaned["jurisdiction"] != EU:
        return {**dict.fromkeys(_TERMS), "jurisdiction": US, "apr_cap": before.get("apr_cap")}
    example = {
        member: int(to_minor_units(cleaned[name], currency)) if member.endswith("_cents") else float(cleaned[name])
        for member, name in _EXAMPLE.items()
        if cleaned[name] is not None
    }
    if "months" in example:
        example["months"] = int(example["months"])
    texts = {name: cleaned[f"text_{name}"] for name in _TEXTS}
    texts = {**(before.get("texts") or {}), **texts}
    return {
        **{name: cleaned[name] or None for name in _PLAIN},
        "jurisdiction": EU,
        "currency": currency,
        "fee_financed": _FEE.get(cleaned["fee_financed"]),
        "apr_cap": None if cleaned["apr_cap"] is None else float(cleaned["apr_cap"]),
        "example": example or None,
        "texts": {name: text for name, text in texts.items() if text} or None,
    }


def field_of(path: str) -> str:
    """Return the form's field for a field of the terms, such as `example.months` or `texts.drawdown`."""
    name, _, member = path.partition(".")
    if name == "texts":
        return f"text_{member}"
    return _EXAMPLE.get(member, "example_amount") if name == "example" else name
