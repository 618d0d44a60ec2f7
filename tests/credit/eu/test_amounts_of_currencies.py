"""Amounts in forms, lists, and panels have the offer's currency and its decimal places."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from credit.console.offer_forms import OfferForm, initial_of, quote_of
from credit.models import ApplicationRevision, Confirmation
from credit.my.forms import DataForm
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import text_of
from tests.backoffice.test_facts import do
from tests.credit.eu.offers import EXAMPLE, eu_offer
from tests.credit.scoring.test_confirmations import file_of
from tests.credit.terms.lending import applied
from tests.credit.test_my_pages import browser_of, page_of
from tests.factories import UserFactory

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


DATA = {"amount_cents": 500_000, "term_months": 24, "income_cents": 400_000}
DRAFT = {"status": "draft", "submitted_at": None, "offer_snapshot": None, "offer_version": None}


def test_pages_of_a_draft_have_the_currency_of_the_offer(yen):
    draft = applied(yen, data=DATA, **DRAFT)
    page = browser_of(draft.consumer).get("/my").content.decode()
    assert "500,000\u00a0JPY" in page
    shown = page_of(draft)
    assert "400,000 JPY" in shown
    assert "$" not in shown.partition("<main")[2]


def test_submitted_application_has_the_pinned_currency(yen):
    application = applied(yen, data=DATA)
    type(yen).objects.filter(pk=yen.pk).update(jurisdiction="us", currency="USD")
    assert "500,000\u00a0JPY" in browser_of(application.consumer).get("/my").content.decode()


def test_more_applications_cost_no_more_statements_on_the_list(yen):
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


def test_console_shows_amounts_in_the_currency(yen, reviewer):
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


def test_list_of_the_console_costs_no_more_statements_for_more_rows(yen, reviewer):
    counts = []
    for number in (1, 5):
        for index in range(number):
            applied(yen, data=DATA, **(DRAFT if index % 2 else {}))
        with CaptureQueriesContext(connection) as captured:
            reviewer.get("/admin/credit/application/")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_reviewer_confirms_a_figure_in_yen(yen, reviewer):
    application = applied(yen, data=DATA)
    fields = {"figure": "/income_cents", "file_id": str(file_of(application).pk)}
    assert "JPY has no decimal places." in text_of(do(reviewer, application, "confirm-figure", value="5.5", **fields))
    do(reviewer, application, "confirm-figure", value="JPY 450,000", **fields)
    assert Confirmation.objects.get().parsed_value == 450_000
    text = text_of(reviewer.get(f"/admin/credit/application/{application.pk}/change/"))
    assert "450,000 JPY (" in text
