"""The forms with which a lender's owners create, change, and deactivate offers."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.text import capfirst

from config.backoffice.forms import SeenForm
from config.backoffice.html import change_address, words
from config.backoffice.records import RecordAction
from config.backoffice.transitions import actor_of
from config.core.currencies import percent_in_words, to_minor_units, to_units
from config.core.errors import ValidationFailed
from config.core.figure_fields import AmountField, FigureField
from credit.api.offers.serializers import OfferRequestSerializer
from credit.console.forms import preview
from credit.core.apr import APR_MAX_PERCENT, RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.eu_credit import (
    DOES_NOT_APPLY,
    REGIMES,
    REQUIRED_TEXTS,
    TERMS_TEXT_MAX_LENGTH,
    TEXT_MAX_LENGTH,
    TEXTS_OF_LINE,
)
from credit.core.figures import money
from credit.core.jurisdictions import DAY_COUNTS, DEFAULT_CURRENCY, EU, US, Conventions
from credit.core.loan_words import months_in_words
from credit.core.quotes import AMOUNT_MAX_CENTS, HUNDREDTH, TENTH, cost_of, monthly_payment_cents
from credit.core.translations import NAME_MAX_LENGTH, OFFER_DESCRIPTION_MAX_LENGTH, language_of_terms, pruned
from credit.models import Offer, Provider
from credit.offers.services import create_offer, deactivate_offer, replace_offer

TITLE = "Credit in the European Union"
_EXAMPLE = {"amount_cents": "example_amount", "months": "example_months", "rate_percent": "example_rate"}
_EXAMPLE["fee_cents"] = "example_fee"
_FEE = {"yes": True, "no": False}
_PLAIN = ("regime", "regime_reason", "day_count")
_TERMS = (*_PLAIN, "jurisdiction", "currency", "fee_financed", "apr_cap", "example", "texts")
_TEXTS = (*REQUIRED_TEXTS, *TEXTS_OF_LINE)
_SECTIONS = {
    "Offer": ("name", "product_type", "description", "language"),
    "Amounts": ("amount_min", "amount_max"),
    "Rates and terms": ("rate_min", "rate_max", "terms"),
    "Agreement": ("terms_text",),
}
_EU_SECTIONS = {
    "Law and currency": ("jurisdiction", "currency", "regime", "regime_reason"),
    "Costs": ("day_count", "fee_financed", "apr_cap"),
    "Representative example": tuple(_EXAMPLE.values()),
    "Information for applicants": tuple(f"text_{name}" for name in _TEXTS),
}
LAWS = {US: "United States", EU: "European Union"}
_LONG = forms.Textarea(attrs={"rows": 2})


def _choice(label: str, *choices: tuple[str, str]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=[("", "—"), *choices], required=False)


def eu_fields(currency: str | None) -> dict[str, forms.Field]:
    """Return the form fields of EU credit by name. They are optional, because US offers leave them empty."""
    amount: dict[str, Any] = {"required": False, "min_value": 0}
    months: dict[str, Any] = {"min_value": 1, "max_value": TERM_MAX_MONTHS, "decimal_places": 0, "required": False}
    rate: dict[str, Any] = {"sign": "%", "min_value": 0, "required": False}
    return {
        "jurisdiction": forms.ChoiceField(label="Law", choices=[*LAWS.items()], initial=US, required=False),
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
        "example_amount": AmountField(currency, label="Amount of the example", **amount),
        "example_months": FigureField(label="Months of the example", **months),
        "example_rate": FigureField(label="Interest rate of the example", max_value=RATE_MAX_PERCENT, **rate),
        "example_fee": AmountField(currency, label="Fee of the example", **amount),
        **{
            f"text_{name}": forms.CharField(
                label=capfirst(words(name)), max_length=TEXT_MAX_LENGTH, required=False, widget=_LONG,
                help_text=f"You can enter “{DOES_NOT_APPLY}”.",
            )
            for name in _TEXTS
        },
    }  # fmt: skip


def eu_initial(terms: dict[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the initial values of the EU fields from an offer's terms."""
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
    """Return the submitted EU terms. Under US law, these terms are null. Texts without a form field don't change."""
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


KINDS = (
    "personal_loan", "auto_loan", "bridge_loan", "business_loan", "home_equity_loan", "home_improvement", "mortgage",
    "student_loan", "line_of_credit", "credit_card", "overdraft",
)  # fmt: skip
QUOTED_TERMS_MAX = 12
_AMOUNTS = {"amount_min": "loan_amount_min_cents", "amount_max": "loan_amount_max_cents"}
_RATES = {"rate_min": "apr_min_percent", "rate_max": "apr_max_percent"}
_MEMBERS = {**_AMOUNTS, **_RATES, "terms": "term_options_months"}


def _rate(label: str) -> FigureField:
    return FigureField(label=label, sign="%", min_value=0, max_value=RATE_MAX_PERCENT, decimal_places=4)


def _amounts(currency: str | None) -> dict[str, AmountField]:
    """Return the fields of the amount limits. `currency` is `Conventions.shown_currency`, or None for dollars."""
    limits: dict[str, Any] = {"min_value": to_units(1, currency), "max_value": to_units(AMOUNT_MAX_CENTS, currency)}
    return {
        name: AmountField(currency, label=f"{label} loan in {currency or 'dollars'}", **limits)
        for name, label in (("amount_min", "Smallest"), ("amount_max", "Largest"))
    }


class OfferForm(SeenForm):
    """The form for the common terms of an offer. Only the API can change the other terms."""

    name = forms.CharField(max_length=NAME_MAX_LENGTH, help_text="Applicants can read it.")
    product_type = forms.ChoiceField(
        label="Kind of credit", choices=[], help_text="With the API, an offer can have another kind."
    )
    description = forms.CharField(
        max_length=OFFER_DESCRIPTION_MAX_LENGTH, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    language = forms.ChoiceField(
        label="Language of the texts",
        choices=settings.LANGUAGES,
        required=False,
        help_text="You can translate them afterwards.",
    )
    amount_min, amount_max = _amounts(None).values()
    rate_min, rate_max = _rate("Lowest interest rate"), _rate("Highest interest rate")
    terms = forms.CharField(
        label="Terms in months",
        required=False,
        help_text="Separated by commas, as in 12, 24, 36. If empty, the offer is a line of credit.",
    )

    terms_text = forms.CharField(
        label="Terms of the lender",
        max_length=TERMS_TEXT_MAX_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="For example, about late payments, early repayment, and governing law. Applicants read them before "
        "they accept. The agreement of a US offer contains them. An EU offer requires them (Article 12).",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.currency = self._currency()
        kinds: Any = self.fields["product_type"]
        known = dict.fromkeys([*KINDS, self.initial.get("product_type") or KINDS[0]])
        kinds.choices = [(kind, capfirst(words(kind))) for kind in known]
        self.fields.update(_amounts(self.currency))
        self.fields.update(eu_fields(self.currency))

    def _currency(self) -> str | None:
        """Return `Conventions.shown_currency` of the submitted terms, or of the initial terms."""
        about = self.data if self.is_bound else self.initial
        typed = str(about.get("currency") or DEFAULT_CURRENCY[EU]).strip().upper()
        return typed[:3] if about.get("jurisdiction") == EU else None

    @property
    def sections(self) -> list[tuple[str, Any]]:
        return self._sections(_SECTIONS)

    @property
    def fieldset(self) -> tuple[str, Any]:
        return TITLE, [self[name] for name in eu_fields(None)]

    @property
    def fieldset_sections(self) -> list[tuple[str, Any]]:
        return self._sections(_EU_SECTIONS)

    def _sections(self, sections: dict[str, tuple[str, ...]]) -> list[tuple[str, Any]]:
        return [(title, [self[name] for name in names]) for title, names in sections.items()]

    @property
    def opens_fieldset(self) -> bool:
        return self.currency is not None or super().opens_fieldset

    def clean_terms(self) -> list[int] | None:
        if not self.cleaned_data["terms"]:
            return None
        parts = [part.strip() for part in self.cleaned_data["terms"].split(",")]
        if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
            raise forms.ValidationError("Enter whole numbers of months, separated by commas: 12, 24, 36.")
        return [int(part) for part in parts]

    def field_of(self, path: str) -> str:
        """Return the name of the form field for a path of the terms, such as `example.months` or `/texts/drawdown`."""
        name, _, member = path.replace("/", ".").strip(".").partition(".")
        if name == "texts":
            return f"text_{member}"
        if name == "example":
            return _EXAMPLE.get(member, "example_amount")
        return next((field for field, term in _MEMBERS.items() if term == name), name)

    def read(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return all terms, validated as in the API. `before` has the terms that the form doesn't contain.

        Raises ValidationFailed.
        """
        facts = self.cleaned_data
        terms = {
            **before,
            **{name: facts[name] for name in ("name", "product_type", "description")},
            "language": facts["language"] or None,
            **{member: int(to_minor_units(facts[field], self.currency)) for field, member in _AMOUNTS.items()},
            **{member: float(facts[field]) for field, member in _RATES.items()},
            "term_options_months": facts["terms"],
            "terms_text": facts["terms_text"] or None,
            **eu_terms(facts, before, self.currency),
        }
        terms["translations"] = pruned(terms.get("translations"), terms)
        return OfferRequestSerializer.read(terms)


def initial_of(offer: Offer) -> dict[str, Any]:
    currency = offer.conventions.shown_currency
    return {
        **{name: getattr(offer, name) for name in ("name", "product_type", "description")},
        "language": language_of_terms(offer.terms()),
        "currency": currency,
        **{field: to_units(getattr(offer, member), currency) for field, member in _AMOUNTS.items()},
        **{field: getattr(offer, member) for field, member in _RATES.items()},
        "terms": ", ".join(map(str, offer.term_options_months or ())),
        "terms_text": offer.terms_text or "",
        **eu_initial(offer.terms(), currency),
    }


def quote_of(record: Offer | Provider, form: OfferForm) -> dict[str, Any]:
    """Return the cost of the largest loan with the form's terms.

    The form must display this cost before the offer is saved.
    """
    figures: list[tuple[str, str]] = []
    if form.is_bound and form.is_valid():
        try:
            figures = _payments(form.read(_before(record)))
        except ValidationFailed as refusal:
            form.set_errors(refusal)
    return preview(form, figures, tuple(_MEMBERS), "Show a quote")


def _payments(terms: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the payments and the APR of the largest loan without a fee, for each term at the lowest and highest rates.

    If there are more than QUOTED_TERMS_MAX terms, the last row has the longest term, and some shorter terms are
    omitted. For a line of credit, the rows have the limit at each rate, because its payments depend on its use.
    """
    amount, months = terms["loan_amount_max_cents"], terms["term_options_months"]
    currency = Conventions.of(terms).shown_currency
    if months is None:
        rates = sorted({terms["apr_min_percent"], terms["apr_max_percent"]})
        return [
            ("Line of credit", f"up to {money(amount, currency)} at {percent_in_words(f'{rate:.2f}')}")
            for rate in rates
        ]
    ordered = sorted(set(months))
    return [
        (
            f"{money(amount, currency)} at {percent_in_words(f'{rate:.2f}')} for {months_in_words(term)}",
            f"{money(monthly_payment_cents(amount, rate, term), currency)} a month{_apr(terms, rate, term)}",
        )
        for term in dict.fromkeys([*ordered[: QUOTED_TERMS_MAX - 1], ordered[-1]])
        for rate in sorted({terms["apr_min_percent"], terms["apr_max_percent"]})
    ]


def _apr(terms: dict[str, Any], rate: float, months: int) -> str:
    """Return the APR of the largest loan in words, or "" if it is out of range."""
    conventions, today = Conventions.of(terms), timezone.now().date()
    amount, note_rate = terms["loan_amount_max_cents"], Decimal(str(rate))
    try:
        figures, _ = cost_of(amount, note_rate, months, 0, None, method=conventions.apr_method, today=today)
    except ValidationFailed:
        return ""
    apr = figures["apr_percent"].quantize(TENTH if conventions.is_eu else HUNDREDTH, ROUND_HALF_UP)
    return f", APR {percent_in_words(str(apr))}"


def _before(record: Offer | Provider) -> dict[str, Any]:
    return record.terms() if isinstance(record, Offer) else {"provider_id": record.pk}


def _make(request: HttpRequest, provider: Provider, form: Any) -> HttpResponse:
    with transaction.atomic():
        offer = create_offer(actor=actor_of(request), terms=form.read(_before(provider)), now=timezone.now())
    messages.success(request, "The offer is active.")
    return HttpResponseRedirect(change_address("credit_offer", offer.pk))


def _comparable(terms: dict[str, Any]) -> dict[str, Any]:
    """Return terms with equal values for an empty text and null, and for a language and its default."""
    values = {name: None if terms.get(name) in ("", {}) else terms.get(name) for name in Offer.TERMS}
    return {**values, "language": language_of_terms(terms)}


def _change(request: HttpRequest, offer: Offer, form: Any) -> str:
    actor, terms = actor_of(request), form.read(_before(offer))
    if _comparable(terms) == _comparable(offer.terms()):
        raise forms.ValidationError("Nothing changed.")
    with transaction.atomic():
        changed = replace_offer(offer.pk, actor=actor, terms=terms, now=timezone.now())
    return f"The offer now has version {changed.version}."


def _deactivate(request: HttpRequest, offer: Offer, _form: Any) -> str:
    deactivate_offer(offer.pk, actor=actor_of(request), now=timezone.now())
    return "The offer no longer accepts applications."


MAKE = RecordAction(
    name="offer",
    label="Create an offer",
    permission="credit.view_offer",
    run=_make,
    form=OfferForm,
    beside=quote_of,
    consequences=lambda _provider: [
        "The catalog lists the offer immediately, and accepts applications to it.",
        "Only your account can change the offer.",
    ],
)
_TRANSLATIONS_GO = "Translations of deleted texts, and into the language of the texts, are deleted. Check the others."
CHANGE = RecordAction(
    name="change-terms",
    label="Change the offer",
    permission="credit.view_offer",
    run=_change,
    form=OfferForm,
    beside=quote_of,
    initial=initial_of,
    seen=lambda offer: f"{offer.version}:{offer.is_active}",
    consequences=lambda offer: [
        f"This creates version {offer.version + 1} of the offer. Applications that were submitted keep their version.",
        *([_TRANSLATIONS_GO] if offer.translations else []),
    ],
)
DEACTIVATE = RecordAction(
    name="deactivate",
    label="Deactivate the offer",
    permission="credit.view_offer",
    run=_deactivate,
    refusal=lambda offer: "" if offer.is_active else "The offer is already inactive.",
    seen=lambda offer: f"{offer.version}:{offer.is_active}",
    consequences=lambda _offer: ["The catalog no longer lists the offer. Submitted applications are unaffected."],
)
