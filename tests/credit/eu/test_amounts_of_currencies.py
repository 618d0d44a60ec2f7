"""Amounts in forms, lists, and panels have the offer's currency and its decimal places."""

import pytest

from credit.console.offer_forms import OfferForm, initial_of, quote_of
from credit.my.forms import DataForm
from tests.credit.eu.offers import EXAMPLE, eu_offer

pytestmark = pytest.mark.django_db
YEN = {
    "regime": "ccd2_small", "regime_reason": "Small.", "currency": "JPY", "loan_amount_min_cents": 10_000,
    "loan_amount_max_cents": 1_000_000, "example": EXAMPLE,
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {
        "income_cents": {"type": "integer", "maximum": 1_000_000},
        "rent_cents": {"type": "integer", "enum": [50_000, 80_000]},
    },
}


@pytest.fixture
def yen():
    return eu_offer(**YEN, application_schema=SCHEMA)


def test_form_of_a_yen_offer_shows_limits_and_choices_in_yen(yen):
    form = DataForm(yen, None, stored={"income_cents": 10_000})
    assert form.fields["amount_cents"].help_text == "From 10,000\u00a0JPY to 1,000,000\u00a0JPY"
    assert form.fields["income_cents"].help_text == "At most 1,000,000\u00a0JPY"
    assert form.fields["rent_cents"].choices[1] == ("50000", "50,000\u00a0JPY")
    assert form.initial["income_cents"] == "10000"


@pytest.mark.parametrize("typed", ["10000", "10,000", "JPY 10,000", "10,000 JPY"])
def test_form_of_a_yen_offer_stores_yen(yen, typed):
    form = DataForm(yen, {"data-amount_cents": typed}, stored=None)
    assert form.is_valid(), form.errors
    assert form.to_data() == {"amount_cents": 10_000}


@pytest.mark.parametrize(("typed", "words"), [
    ("9,999", "Enter at least 10,000\u00a0JPY."), ("1,000,001", "Enter at most 1,000,000\u00a0JPY."),
    ("10000.5", "decimal"), ("$10,000", "Enter a number"),
])  # fmt: skip
def test_form_of_a_yen_offer_rejects_amounts_in_yen(yen, typed, words):
    form = DataForm(yen, {"data-amount_cents": typed}, stored=None)
    assert words in str(form.errors)


def test_form_of_a_dinar_offer_has_three_decimal_places():
    offer = eu_offer(currency="KWD")
    form = DataForm(offer, {"data-amount_cents": "1,000.125"}, stored={"amount_cents": 2_000_500})
    assert form.initial["amount_cents"] == "2000.500"
    assert form.is_valid(), form.errors
    assert form.to_data() == {"amount_cents": 1_000_125}


def test_console_changes_a_yen_offer_in_yen(yen):
    initial = {**initial_of(yen), "seen": "1"}
    assert (str(initial["amount_min"]), str(initial["amount_max"])) == ("10000", "1000000")
    form = OfferForm({**initial, "amount_max": "JPY 2,000,000"}, initial=initial)
    assert form.fields["amount_max"].label == "Largest loan in JPY"
    assert form.is_valid(), form.errors
    assert form.read(yen.terms())["loan_amount_max_cents"] == 2_000_000
    assert quote_of(yen, form)["figures"][0][0].startswith("2,000,000\u00a0JPY at 6.90 %")
