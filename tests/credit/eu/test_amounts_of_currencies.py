"""Test that forms, lists, and panels show amounts in the offer's currency with its decimal places."""

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from config.core.currencies import to_minor_units
from config.core.figure_fields import AmountField
from credit.console.offer_forms import OfferForm, initial_of, quote_of
from credit.models import ApplicationRevision, Confirmation, Correction, LoanTerms
from credit.my.forms import DataForm
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, text_of
from tests.backoffice.test_application_export import rows_of
from tests.backoffice.test_facts import submit_action
from tests.credit.eu.offers import EU_TERMS, EXAMPLE, eu_offer
from tests.credit.scoring.test_confirmations import file_of
from tests.credit.terms.lending import applied, listed
from tests.credit.test_my_pages import browser_of, page_of
from tests.factories import OfferFactory, UserFactory

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


def test_application_form_of_a_yen_offer_shows_amounts_in_yen(yen):
    form = DataForm(yen, None, stored={"income_cents": 10_000})
    assert form.fields["amount_cents"].help_text == "From 10,000\u00a0JPY to 1,000,000\u00a0JPY"
    assert form.fields["income_cents"].help_text == "At most 1,000,000\u00a0JPY"
    assert form.fields["rent_cents"].choices[1] == ("50000", "50,000\u00a0JPY")
    assert form.initial["income_cents"] == "10000"


def test_application_form_of_a_yen_offer_accepts_only_amounts_in_yen(yen):
    for typed in ("10000", "10,000", "JPY 10,000", "10,000 JPY"):
        form = DataForm(yen, {"data-amount_cents": typed}, stored=None)
        assert form.is_valid(), form.errors
        assert form.to_data() == {"amount_cents": 10_000}
    for typed, words in (
        ("9,999", "Enter at least 10,000\u00a0JPY."), ("1,000,001", "Enter at most 1,000,000\u00a0JPY."),
        ("10000.5", "decimal"), ("$10,000", "Enter a number"),
    ):  # fmt: skip
        assert words in str(DataForm(yen, {"data-amount_cents": typed}, stored=None).errors)


def test_application_form_of_a_dinar_offer_accepts_three_decimal_places():
    offer = eu_offer(currency="KWD")
    form = DataForm(offer, {"data-amount_cents": "1,000.125"}, stored={"amount_cents": 2_000_500})
    assert form.initial["amount_cents"] == "2000.500"
    assert form.is_valid(), form.errors
    assert form.to_data() == {"amount_cents": 1_000_125}


def test_back_office_form_updates_the_amounts_of_a_yen_offer_in_yen(yen):
    initial = {**initial_of(yen), "seen": "1"}
    assert (str(initial["amount_min"]), str(initial["amount_max"])) == ("10000", "1000000")
    form = OfferForm({**initial, "amount_max": "JPY 2,000,000"}, initial=initial)
    assert form.fields["amount_max"].label == "Largest loan in JPY"
    assert form.is_valid(), form.errors
    assert form.read(yen.terms())["loan_amount_max_cents"] == 2_000_000
    assert quote_of(yen, form)["figures"][0][0].startswith("2,000,000\u00a0JPY at 6.90%")


DATA = {"amount_cents": 500_000, "term_months": 24, "income_cents": 400_000}
DRAFT = {"status": "draft", "submitted_at": None, "offer_snapshot": None, "offer_version": None}


def test_applicants_pages_show_amounts_in_the_currency_of_the_offer(yen):
    draft = applied(yen, data=DATA, **DRAFT)
    assert "500,000\u00a0JPY" in browser_of(draft.consumer).get("/my").content.decode()
    shown = page_of(draft)
    assert "400,000 JPY" in shown
    assert "$" not in shown.partition("<main")[2]
    submitted = applied(yen, data=DATA)
    type(yen).objects.filter(pk=yen.pk).update(
        jurisdiction="us", currency="USD"
    )  # The application pinned its currency.
    assert "500,000\u00a0JPY" in browser_of(submitted.consumer).get("/my").content.decode()


def test_application_list_of_any_length_executes_a_fixed_number_of_sql_statements(yen):
    user, counts = UserFactory(), []
    for number in (1, 5):
        for index in range(number):
            applied(yen, consumer=user, data=DATA, **(DRAFT if index % 2 else {}))
        browser = browser_of(user)
        with CaptureQueriesContext(connection) as captured:
            page = browser.get("/my").content.decode()
        counts.append(len(captured))
    assert page.count("500,000\u00a0JPY") == 6
    assert counts == [8, 8]


@pytest.fixture
def reviewer():
    return backoffice_client(staff_of("Reviewer"))


def test_back_office_shows_amounts_in_the_currency_of_the_offer(yen, reviewer):
    for application in (applied(yen, data=DATA), applied(yen, data=DATA, **DRAFT)):
        changes = {"income_cents": {"before": 300_000, "after": 400_000}}
        ApplicationRevision.objects.create(
            application=application, changes=changes, changed_at=timezone.now(), principal=application.consumer,
            credential="jwt", status=application.status, sha256="0" * 64, updated_by="name",
        )  # fmt: skip
        text = text_of(reviewer.get(f"/admin/credit/application/{application.pk}/change/"))
        assert text.count("500,000 JPY") >= 2
        assert text.count("400,000 JPY") >= 2
        assert "$" not in text
    assert text_of(reviewer.get("/admin/credit/application/")).count("500,000 JPY") == 2


def test_back_office_list_of_any_length_executes_a_fixed_number_of_sql_statements(yen, reviewer):
    counts = []
    for number in (1, 5):
        for index in range(number):
            applied(yen, data=DATA, **(DRAFT if index % 2 else {}))
        with CaptureQueriesContext(connection) as captured:
            reviewer.get("/admin/credit/application/")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_reviewer_can_confirm_a_figure_in_yen_only_without_decimal_places(yen, reviewer):
    application = applied(yen, data=DATA)
    fields = {"figure": "/income_cents", "file_id": str(file_of(application).pk)}
    page = submit_action(reviewer, application, "confirm-figure", value="5.5", **fields)
    assert "JPY has no decimal places." in text_of(page)
    submit_action(reviewer, application, "confirm-figure", value="JPY 450,000", **fields)
    assert Confirmation.objects.get().parsed_value == 450_000
    text = text_of(reviewer.get(f"/admin/credit/application/{application.pk}/change/"))
    assert "450,000 JPY (" in text


# A row has the currency, and the largest loan of the offer in minor units. It then has an amount as typed, as shown in
# the back office, in minor units, and as typed on a German page.
AMOUNTS = [
    ("JPY", 500_000, "12,345", "12,345\u00a0JPY", 12_345, "12.345"),
    ("TND", 90_000_000, "12,345.678", "12,345.678\u00a0TND", 12_345_678, "12.345,678"),
    ("EUR", 9_000_000, "12,345.67", "12,345.67\u00a0EUR", 1_234_567, "12.345,67 EUR"),
    ("USD", 9_000_000, "$12,345.67", "$12,345.67", 1_234_567, "$12,345.67"),
]
OF_AMOUNTS = pytest.mark.parametrize(("currency", "most", "typed", "shown", "minor", "german"), AMOUNTS)
# The pages of two currencies with two decimal places are the same.
OF_DECIMALS = pytest.mark.parametrize(("currency", "most", "typed", "shown", "minor", "german"), AMOUNTS[:3])


def offer_in(currency, most):
    if currency == "USD":
        return listed(loan_amount_max_cents=most)
    terms = {"regime": "ccd2_small", "regime_reason": "Small.", "loan_amount_min_cents": 1}
    return eu_offer(currency=currency, loan_amount_max_cents=most, **terms)


@OF_DECIMALS
def test_back_office_approval_stores_the_amount_entered_in_the_offers_currency(
    settings, reviewer, currency, most, typed, shown, minor, german
):
    settings.REVIEW_POLICY = "reviewed"
    application = applied(offer_in(currency, most), data={"amount_cents": minor, "term_months": 24})
    address = f"/admin/credit/application/{application.pk}/move/approved/"
    page = reviewer.get(address)
    assert page.context["form"]["amount"].value() == shown.strip("$").split("\u00a0")[0]
    assert page.context["form"].fields["amount"].label == f"Amount in {currency}"
    answer = confirm(reviewer, address, amount=typed, rate_percent="8", term_months="24")
    assert shown in text_of(answer).replace(f" {currency}", f"\u00a0{currency}")
    assert LoanTerms.objects.get().amount_cents == minor
    (row,) = rows_of(reviewer)
    in_units = shown.strip("$").replace(",", "").split("\u00a0")[0]
    assert (row["amount"], row["approved_amount"], row["currency"]) == (in_units, in_units, currency)


@OF_AMOUNTS
def test_german_application_form_accepts_the_displayed_number_separators(currency, most, typed, shown, minor, german):
    offer = offer_in(currency, most)
    with translation.override("de"):
        form = DataForm(offer, {"data-amount_cents": german}, stored={"amount_cents": minor})
        assert form.is_valid(), form.errors
        assert form.to_data()["amount_cents"] == minor
        again = DataForm(offer, {"data-amount_cents": form.initial["amount_cents"]}, stored=None)
        assert again.is_valid(), again.errors
        assert again.to_data() == {"amount_cents": minor}


@pytest.mark.parametrize(("language", "typed", "minor"), [
    ("de", "10.000", 10_000_000), ("de", "10,000", 10_000), ("en", "10,000", 10_000_000), ("en", "10.000", 10_000),
    ("de", "10.00", None), ("de", "1,000,000", None), ("en", "10,00", None), ("es", "10.000,5", 10_000_500),
])  # fmt: skip
def test_dinar_amounts_are_parsed_with_the_separators_of_the_language(language, typed, minor):
    field = AmountField("TND")
    with translation.override(language):
        if minor is None:
            with pytest.raises(ValidationError, match=r"8[.,]000[.,]50"):
                field.clean(typed)
        else:
            assert to_minor_units(field.clean(typed), "TND") == minor


def test_back_office_amount_filter_and_search_compare_major_currency_units(reviewer):
    amounts = {"JPY": 5_000, "TND": 5_000_000, "EUR": 500_000, "USD": 500_000}
    result = {}
    for number, (currency, minor) in enumerate(amounts.items()):
        terms = {**EU_TERMS, "currency": currency} if currency != "USD" else {}
        offer = OfferFactory(provider__id=str(900 + number), **terms)
        result[currency] = applied(offer, data={}, amount_cents=minor)
    listing = "/admin/credit/application/"
    assert len(reviewer.get(f"{listing}?amount=middle").context["cl"].result_list) == 4
    for size in ("small", "large"):
        assert not reviewer.get(f"{listing}?amount={size}").context["cl"].result_list
    for typed, currency in (
        ("5,000 JPY", "JPY"), ("TND 5,000.000", "TND"), ("5000 EUR", "EUR"), ("$5,000", "USD"), ("5,000.00", "USD"),
    ):  # fmt: skip
        assert list(reviewer.get(listing, {"q": typed}).context["cl"].result_list) == [result[currency]]


@OF_DECIMALS
def test_correction_amount_is_entered_in_major_currency_units(currency, most, typed, shown, minor, german):
    application = applied(offer_in(currency, most), data={"income_cents": 1, "term_months": 24})
    browser, place = browser_of(application.consumer), f"/my/applications/{application.pk}/explanation"
    report = {"fact": "application_data.income_cents", "statement": "It is wrong."}
    page = browser.post(place, {**report, "claimed": "1,2,3"}, follow=True).content.decode()
    assert f"Enter a number such as 8,000{'' if currency == 'JPY' else '.50'}. Use the same separators" in page
    browser.post(place, {**report, "claimed": german}, follow=True, headers={"Accept-Language": "de"})
    correction = Correction.objects.get()
    assert correction.parsed_claim == minor
    page = backoffice_client(staff_of("Reviewer")).get(f"/admin/credit/correction/{correction.pk}/change/")
    assert shown in text_of(page).replace(f" {currency}", f"\u00a0{currency}")
