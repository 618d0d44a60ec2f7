"""Forms by which a lender's owners create, change, and deactivate offers, with the cost of a loan."""

from contextlib import suppress
from hashlib import sha256
from typing import Any

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from config.backoffice.forms import SeenForm
from config.backoffice.html import change_address
from config.backoffice.records import RecordAction
from config.backoffice.transitions import CREDENTIAL
from config.core.currencies import to_minor_units, to_units
from config.core.errors import ValidationFailed
from config.core.figure_fields import AmountField, FigureField
from config.core.lifecycle import Actor
from config.core.log_in import gave_second_factor
from credit.api.offers.serializers import DESCRIPTION_MAX_LENGTH, OfferRequestSerializer
from credit.console.eu_offer_fields import TITLE as FIELDSET_TITLE
from credit.console.eu_offer_fields import eu_fields, eu_initial, eu_terms, field_of
from credit.core.apr import RATE_MAX_PERCENT
from credit.core.figures import money
from credit.core.jurisdictions import DEFAULT_CURRENCY, EU, Conventions
from credit.core.quotes import AMOUNT_MAX_CENTS, monthly_payment_cents
from credit.core.schedule_words import months_in_words
from credit.models import Offer, Provider
from credit.offers.services import create_offer, deactivate_offer, replace_offer

NAME_MAX_LENGTH = 255
_AMOUNTS = {"amount_min": "loan_amount_min_cents", "amount_max": "loan_amount_max_cents"}
_RATES = {"rate_min": "apr_min_percent", "rate_max": "apr_max_percent"}
_MEMBERS = {**_AMOUNTS, **_RATES, "terms": "term_options_months"}
FIGURES = tuple(_MEMBERS)


def lender_actor(request: HttpRequest) -> Actor:
    return Actor(user=request.user, credential=CREDENTIAL, second_factor=gave_second_factor(request))


def _rate(label: str) -> FigureField:
    return FigureField(label=label, sign="%", min_value=0, max_value=RATE_MAX_PERCENT, decimal_places=4)


def _amounts(currency: str | None) -> dict[str, AmountField]:
    """Return the fields of the amount limits; `currency` is `Conventions.shown_currency`, None for dollars."""
    limits: dict[str, Any] = {"min_value": to_units(1, currency), "max_value": to_units(AMOUNT_MAX_CENTS, currency)}
    return {
        name: AmountField(currency, label=f"{label} loan in {currency or 'dollars'}", **limits)
        for name, label in (("amount_min", "Smallest"), ("amount_max", "Largest"))
    }


class OfferForm(SeenForm):
    """The terms that most offers have. Other terms of an existing offer don't change; the API can change them."""

    name = forms.CharField(max_length=NAME_MAX_LENGTH, help_text="Applicants can read it.")
    product_type = forms.CharField(max_length=NAME_MAX_LENGTH, initial="personal_loan", label="Kind of credit")
    description = forms.CharField(
        max_length=DESCRIPTION_MAX_LENGTH, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    amount_min, amount_max = _amounts(None).values()
    rate_min, rate_max = _rate("Lowest rate, percent per year"), _rate("Highest rate, percent per year")
    terms = forms.CharField(
        label="Terms in months",
        required=False,
        help_text="Separated by commas, as in 12, 24, 36. If empty, the offer is a line of credit.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.currency = self._currency()
        self.fields.update(_amounts(self.currency))
        self.fields.update(eu_fields(self.currency))

    def _currency(self) -> str | None:
        """Return `Conventions.shown_currency` of the submitted or initial terms."""
        about = self.data if self.is_bound else self.initial
        typed = str(about.get("currency") or DEFAULT_CURRENCY[EU]).strip().upper()
        return typed[:3] if about.get("jurisdiction") == EU else None

    @property
    def fieldset(self) -> tuple[str, Any]:
        return FIELDSET_TITLE, [self[name] for name in eu_fields(None)]

    def clean_terms(self) -> list[int] | None:
        if not self.cleaned_data["terms"]:
            return None
        parts = [part.strip() for part in self.cleaned_data["terms"].split(",")]
        if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
            raise forms.ValidationError("Enter whole numbers of months, separated by commas: 12, 24, 36.")
        return [int(part) for part in parts]

    def read(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return all terms, validated as in the API; `before` has the terms that the form doesn't contain.

        Raises ValidationFailed, and sets its messages on the form's fields.
        """
        facts = self.cleaned_data
        terms = {
            **before,
            **{name: facts[name] for name in ("name", "product_type", "description")},
            **{member: int(to_minor_units(facts[field], self.currency)) for field, member in _AMOUNTS.items()},
            **{member: float(facts[field]) for field, member in _RATES.items()},
            "term_options_months": facts["terms"],
            **eu_terms(facts, before, self.currency),
        }
        try:
            return OfferRequestSerializer.read(terms)
        except ValidationFailed as refusal:
            fields = {member: field for field, member in _MEMBERS.items()}
            details: Any = refusal.details or ()
            for detail in details:
                path = str(detail["field"]).replace("/", ".").strip(".")
                field = fields.get(path.partition(".")[0]) or field_of(path)
                self.add_error(field if field in self.fields else None, detail["message"])
            raise


def initial_of(offer: Offer) -> dict[str, Any]:
    currency = offer.conventions.shown_currency
    return {
        **{name: getattr(offer, name) for name in ("name", "product_type", "description")},
        "currency": currency,
        **{field: to_units(getattr(offer, member), currency) for field, member in _AMOUNTS.items()},
        **{field: getattr(offer, member) for field, member in _RATES.items()},
        "terms": ", ".join(map(str, offer.term_options_months or ())),
        **eu_initial(offer.terms(), currency),
    }


def quote_of(record: Offer | Provider, form: OfferForm) -> dict[str, Any]:
    """Return the cost of the largest loan with the form's terms; the offer is saved only after it was shown."""
    figures: list[tuple[str, str]] = []
    if form.is_bound and form.is_valid():
        with suppress(ValidationFailed):  # the form's fields have its messages
            figures = _payments(form.read(_before(record)))
    digest = sha256(repr(figures).encode()).hexdigest()[:16] if figures else ""
    return {
        "figures": figures,
        "figure_fields": FIGURES,
        "preview": "Show a quote",
        "terms_seen": digest,
        "unseen": bool(figures and form.data.get("terms_seen") != digest),
    }


def _payments(terms: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the payments of the largest loan at the lowest and highest rate, for the shortest and longest term.

    A line of credit has no terms, and its payments depend on its use, so it has its limit at each rate.
    """
    amount, months = terms["loan_amount_max_cents"], terms["term_options_months"]
    currency = Conventions.of(terms).shown_currency
    if months is None:
        rates = sorted({terms["apr_min_percent"], terms["apr_max_percent"]})
        return [("Line of credit", f"up to {money(amount, currency)} at {rate:.2f} %") for rate in rates]
    return [
        (
            f"{money(amount, currency)} at {rate:.2f} % for {months_in_words(term)}",
            f"{money(monthly_payment_cents(amount, rate, term), currency)} a month",
        )
        for term in sorted({min(months), max(months)})
        for rate in sorted({terms["apr_min_percent"], terms["apr_max_percent"]})
    ]


def _before(record: Offer | Provider) -> dict[str, Any]:
    return record.terms() if isinstance(record, Offer) else {"provider_id": record.pk}


def _make(request: HttpRequest, provider: Provider, form: Any) -> HttpResponse:
    with transaction.atomic():
        offer = create_offer(actor=lender_actor(request), terms=form.read(_before(provider)), now=timezone.now())
    return HttpResponseRedirect(change_address("credit_offer", offer.pk))


def _change(request: HttpRequest, offer: Offer, form: Any) -> str:
    actor, terms = lender_actor(request), form.read(_before(offer))
    with transaction.atomic():
        changed = replace_offer(offer.pk, actor=actor, terms=terms, now=timezone.now())
    return f"The offer now has version {changed.version}."


def _deactivate(request: HttpRequest, offer: Offer, _form: Any) -> str:
    deactivate_offer(offer.pk, actor=lender_actor(request), now=timezone.now())
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
        f"This creates version {offer.version + 1} of the offer. Applications that were submitted keep their version."
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
