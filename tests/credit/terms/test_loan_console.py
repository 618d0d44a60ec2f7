"""Test the approval form, counteroffers, and the application page of loans in the back office."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from config.core.figure_fields import FigureField
from credit.core.figures import reference_of
from credit.models import Application, Counteroffer, LoanTerms, Proposal
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, links_of, seen_value, send_form, text_of
from tests.backoffice.test_applications import move_of, page_of
from tests.backoffice.test_case_score import case as scored_case
from tests.credit.eu.offers import TEXTS, eu_offer
from tests.credit.scoring.past import model_of, version_of
from tests.credit.terms.lending import accept_terms, acceptance_of, applied, listed
from tests.credit.terms.test_counteroffers import expire

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
BECAUSE = {"code_1": "income_insufficient"}
OFFERED = {"amount": "6000", "rate_percent": "8", "term_months": "12"}


def until(days=10):
    return (timezone.now() + timedelta(days=days)).date().isoformat()


@pytest.fixture
def application(db):
    return applied(listed())


@pytest.fixture
def console(db):
    return backoffice_client(staff_of("Reviewer"))


def test_approval_form_of_an_eu_line_of_credit_shows_the_assumed_cost(console):
    offer = eu_offer(term_options_months=None, texts={**TEXTS, "termination": "A month's notice."})
    application = applied(offer, data={"amount_cents": 1_000_000})
    address = move_of(application, "approved")
    terms = {"amount": "10000", "rate_percent": "14.2", "fee": "100"}
    page = text_of(console.post(address, {"seen": seen_value(console.get(address)), **terms, "preview": "Compute"}))
    assert "17.4%" in page
    send_form(console, address, **terms)
    page = text_of(console.get(page_of(application)))
    assert "Annual percentage rate of charge (APR) 17.4%" in page
    assert "10,769.17" in page


def test_approval_form_previews_the_cost_of_the_requested_or_entered_loan(console, application):
    address = move_of(application, "approved")
    page = console.get(address)
    form = page.context["form"].initial
    assert (form["amount"], form["rate_percent"], form["term_months"]) == (10_000, 6.9, 24)
    assert "Annual percentage rate" in text_of(page)
    assert "$447.27" in text_of(page)
    fields = {"seen": seen_value(page), "amount": "20000", "rate_percent": "8", "term_months": "36"}
    page = console.post(address, {**fields, "preview": "Compute"})
    assert page.status_code == 200
    assert "$626.73" in text_of(page)
    page = console.post(address, {**fields, "rate_percent": "3", "preview": "Compute"})
    assert list(page.context["form"].errors.items()) == [("rate_percent", ["The rates of the offer begin at 6.9%."])]
    assert "The rates of the offer begin at 6.9%." in text_of(page)
    application.refresh_from_db()
    assert application.status == "under_review"


def test_back_office_approval_stores_the_terms_of_the_form(console, application):
    typed = {"amount": "$12,500.50", "rate_percent": "7.25 %", "term_months": "36", "fee": "1,000"}
    send_form(console, move_of(application, "approved"), **typed)
    terms = LoanTerms.objects.get().to_dict()
    assert (terms["amount_cents"], terms["rate_percent"], terms["fee_cents"]) == (1_250_050, 7.25, 100_000)
    assert "$12,500.50 at 7.25% for 36 months, fee $1,000.00" in text_of(console.get(page_of(application)))


@pytest.mark.parametrize(("typed", "cents"), [
    ("8,000", 800_000), ("$8,000.50", 800_050), ("8 000", 800_000), ("8\u00a0000", 800_000), ("8\u202f000.5", 800_050),
    ("8'000", 800_000), ("8\u2019000", 800_000), ("1,234,567.89", 123_456_789), (" 8000 ", 800_000), ("8000.", 800_000),
    ("$ 8,000", 800_000), ("\uff18\uff10\uff10\uff10", 800_000), ("800,000.00", 80_000_000),
    ("\u0668\u066c\u0660\u0660\u0660\u066b\u0665\u0660", 800_050), ("\u096e\u0966\u0966\u0966", 800_000),
])  # fmt: skip
def test_amount_field_accepts_common_separators(typed, cents):
    assert FigureField(decimal_places=2, sign="$").clean(typed) * 100 == cents


@pytest.mark.parametrize("typed", [
    "8,5", "0,005", "0,500", "5\u00b2", "8 5", "8,50", "8.000,50", "1.234.567", "8,00", "80,00,000",
    "8,0000", ",5", "8,000 000", "1,2,3", "8,000,", "8000.-", "8k", "8e3", "8_000", "\u2212800", "(800)", "0x10",
    "1,00,000",
])  # fmt: skip
def test_amount_field_rejects_an_ambiguous_amount_and_shows_an_example(typed):
    with pytest.raises(ValidationError, match=r"Enter a number such as 8,000\.50"):
        FigureField(decimal_places=2, sign="$").clean(typed)


def test_approval_form_shows_errors_at_the_field_and_retains_the_input(console, offer):
    address = move_of(applied(offer, data={"amount_cents": 1_000_000}), "approved")
    for fields, field, message in (
        (
            {"amount": "9000"},
            "term_months",
            "Required, because neither the application nor the offer contains this value.",
        ),
        ({"term_months": "24", "amount": "8,5"}, "amount", "Enter a number such as 8,000.50"),
        ({"term_months": "24", "amount": "999"}, "amount", "The offer lends $1,000.00 or more."),
        ({"term_months": "7"}, "term_months", "The offer's terms are 12, 24, 36, 60 months."),
        ({"term_months": "24", "fee": "10000"}, "fee", "Must be less than the amount of the loan."),
        ({"term_months": "24", "first_payment_on": "2020-01-01"}, "first_payment_on", "Enter a day from "),
    ):
        page = confirm(console, address, **fields)
        (errors,) = page.context["form"].errors.items()
        assert (errors[0], errors[1][0].startswith(message)) == (field, True), errors
        assert page.context["form"].data["seen"]
        assert message in text_of(page)
        assert "metadata" not in text_of(page)
        assert "cents" not in text_of(page)
    assert not LoanTerms.objects.exists()
    page = text_of(console.get(move_of(applied(offer, data={}), "approved")))
    for field in ("Number of months", "Amount in dollars"):
        assert f"{field} Required, because neither the application nor the offer contains this value." in page


def test_back_office_approval_for_an_unlisted_offer_requires_no_loan(console):
    application = applied(listed(), offer_snapshot=None, offer_version=None)
    page = console.get(move_of(application, "approved"))
    assert "Neither" not in text_of(page)
    send_form(console, move_of(application, "approved"))
    application.refresh_from_db()
    assert (application.status, LoanTerms.objects.count()) == ("approved", 0)


def test_reviewer_can_create_view_and_withdraw_a_counteroffer(console, application):
    page = console.get(page_of(application))
    assert "Make a counteroffer" in text_of(page)
    response = confirm(console, move_of(application, "counteroffer"), **OFFERED, **BECAUSE, expires_on=until())
    assert "The counteroffer was sent to the applicant." in text_of(response)
    shown = text_of(console.get(page_of(application)))
    assert "to accept by" in shown
    assert "$6,000.00 at 8.00% for 12 months" in shown
    queue = console.get(reverse("admin:credit_application_changelist"), {"queue": "counteroffers"})
    assert application.pk.hex[-8:].upper() in text_of(queue)
    assert acceptance_of(client_of(application.consumer), application)["acceptable"] is True
    offered = Counteroffer.objects.get()
    withdraw = reverse("admin:credit_application_withdraw_counteroffer", args=[application.pk, offered.pk])
    console.get(withdraw)
    assert Counteroffer.objects.get().status == "open"
    assert "The counteroffer is withdrawn." in text_of(confirm(console, withdraw))
    assert Counteroffer.objects.get().status == "withdrawn"
    assert "The counteroffer has already ended." in text_of(console.post(withdraw, follow=True))
    assert expire() == 0


def test_case_page_states_that_an_open_counteroffer_waits_for_the_applicant(console, application):
    Application.objects.update(submitted_at=timezone.now() - timedelta(days=40))
    send_form(console, move_of(application, "counteroffer"), **OFFERED, **BECAUSE, expires_on=until())
    queue = reverse("admin:credit_application_changelist")
    for page in (console.get(page_of(application)), console.get(queue, {"queue": "counteroffers"})):
        assert "left to accept" in text_of(page)
        assert "clock-over" not in page.content.decode()
    assert reference_of(application.pk) not in text_of(console.get(queue, {"age": "30"}))
    page = console.get(page_of(application))
    assert [(button.label, button.is_plain) for button in page.context["actions"]] == [
        ("Withdraw the counteroffer", True)
    ]
    menu = {button.name: button.refusal for button in page.context["rare"]}
    assert menu["approved"] == menu["rejected"] == menu["pending_documents"] == ""
    assert "counteroffer" in menu["counteroffer"]
    names = [button.name for button in (*page.context["actions"], *page.context["rare"])]
    assert len(names) == len(set(names))


def test_support_sees_an_open_counteroffer_without_amounts_and_without_a_withdraw_button(console, application):
    send_form(console, move_of(application, "counteroffer"), **OFFERED, **BECAUSE, expires_on=until())
    support = backoffice_client(staff_of("Support"))
    arguments = [application.pk, Counteroffer.objects.get().pk]
    withdraw = reverse("admin:credit_application_withdraw_counteroffer", args=arguments)
    page = support.get(page_of(application))
    assert withdraw not in links_of(page)
    assert "6,000" not in text_of(page)
    assert "to accept by" in text_of(page)
    assert support.post(withdraw).status_code == 403


def test_back_office_counteroffer_requires_reasons_and_a_deadline(console, application):
    for missing in ("code_1", "expires_on"):
        fields = {**OFFERED, **BECAUSE, "expires_on": until()}
        del fields[missing]
        assert "errorlist" in confirm(console, move_of(application, "counteroffer"), **fields).content.decode()
    assert not Counteroffer.objects.exists()


def test_counteroffer_form_retains_its_values_if_the_expiry_date_is_out_of_range(console, application):
    address = move_of(application, "counteroffer")
    for day, first_payment, error in (
        (until(0), "", "Enter a day from "), (until(91), "", "Enter a day from "),
        (until(30), until(20), "Enter a day before the first payment on "),
        (until(20), until(20), "Enter a day before the first payment on "),
    ):  # fmt: skip
        fields = {**OFFERED, **BECAUSE, "first_payment_on": first_payment, "expires_on": day}
        form = confirm(console, address, **fields).context["form"]
        assert [(name, errors[0].startswith(error)) for name, errors in form.errors.items()] == [("expires_on", True)]
        assert {name: form[name].value() for name in fields} == fields
    assert not Counteroffer.objects.exists()


def test_decision_after_a_colleagues_decision_shows_who_decided_and_retains_the_typed_reason(console, application):
    address = move_of(application, "approved")
    fields = {"seen": seen_value(console.get(address)), "reason": "Income confirmed."}
    colleague = staff_of("Reviewer", username="ruth")
    confirm(backoffice_client(colleague), move_of(application, "rejected"), **BECAUSE)
    page = console.post(address, fields)
    assert "must be under review first. ruth changed the status to “rejected” at " in text_of(page)
    assert page.context["form"]["reason"].value() == "Income confirmed."


REQUESTED = {"amount": "10,000", "rate_percent": "6.9", "term_months": "24"}


def test_counteroffer_form_shows_the_requested_loan_next_to_empty_fields(console, application):
    page = console.get(move_of(application, "counteroffer"))
    assert not {*REQUESTED} & {*page.context["form"].initial}
    assert page.context["figures"] == []
    assert page.context["form"].fields["reason"].widget.is_hidden  # The application has no score.
    for text in ("$10,000.00, as requested.", "6.90%, as for an approval.", "24 months, as requested."):
        assert f"If empty: {text}" in text_of(page)


def test_counteroffer_form_shows_an_error_at_the_amount_if_no_figure_changed_or_no_amount_is_set(console, offer):
    application = applied(offer)
    for figures in ({}, REQUESTED, {"amount": "10000"}, {"fee": "0"}, {"first_payment_on": until(40)}):
        fields = {**figures, **BECAUSE, "expires_on": until()}
        page = confirm(console, move_of(application, "counteroffer"), **fields)
        assert list(page.context["form"].errors) == ["amount"]
        assert "approve the application instead" in text_of(page)
        assert {name: page.context["form"].data[name] for name in fields} == fields
    address = move_of(applied(offer, data={"term_months": 24}), "counteroffer")
    page = confirm(console, address, rate_percent="8", **BECAUSE, expires_on=until())
    assert list(page.context["form"].errors) == ["amount"]
    assert not Counteroffer.objects.exists()


def test_counteroffer_with_a_single_changed_figure_retains_the_other_requested_figures(console, offer):
    for figures, expected in (
        ({"amount": "8000"}, (800_000, 6.9, 24, 0)), ({"rate_percent": "7"}, (1_000_000, 7, 24, 0)),
        ({"term_months": "12"}, (1_000_000, 6.9, 12, 0)), ({"fee": "50"}, (1_000_000, 6.9, 24, 5_000)),
    ):  # fmt: skip
        application = applied(offer)
        send_form(console, move_of(application, "counteroffer"), **figures, **BECAUSE, expires_on=until())
        terms = application.counteroffers.get().terms
        assert (terms["amount_cents"], terms["rate_percent"], terms["term_months"], terms["fee_cents"]) == expected


class TestDecisionAgainstTheScore:
    @pytest.fixture
    def scored(self, db):
        version = version_of(model_of())
        data = {"amount_cents": 1_000_000, "term_months": 24}
        return scored_case(version, application_data=data)

    def test_counteroffer_against_the_score_requires_a_reason(self, console, scored):
        address = move_of(scored, "counteroffer")
        warning = "The score, 550, proposes to reject it: a counteroffer requires a reason"
        assert warning in text_of(console.get(address))
        fields = {"amount": "8000", "rate_percent": "8", **BECAUSE, "expires_on": until()}
        assert list(confirm(console, address, **fields).context["form"].errors) == ["reason"]
        confirm(console, address, **fields, reason="A smaller loan is affordable.")
        assert Counteroffer.objects.count() == 1
        assert "against the score's proposal: A smaller loan is affordable." in text_of(console.get(page_of(scored)))

    def test_second_reviewer_sees_the_reason_for_a_counteroffer_against_the_score_before_confirming(
        self, scored, settings
    ):
        settings.REVIEW_POLICY = "four_eyes"
        first, second = (backoffice_client(staff_of("Reviewer", username=name)) for name in ("one", "two"))
        fields = {"amount": "8000", "rate_percent": "8", "reason": "It is affordable."}
        confirm(first, move_of(scored, "counteroffer"), **fields, **BECAUSE, expires_on=until())
        proposal = Proposal.objects.get()
        address = reverse("admin:credit_application_proposal", args=[scored.pk, proposal.pk, "confirm"])
        page = text_of(second.get(address))
        for words in (
            "Reason It is affordable.", "The score proposes a different decision.",
            "Credit limit $8,000.00 Annual percentage rate 8.00%",
        ):  # fmt: skip
            assert words in page
        send_form(second, address)
        assert Counteroffer.objects.get().four_eyes["proposed_by"] == "one"
        assert accept_terms(client_of(scored.consumer), scored).status_code == 200


def test_application_page_hides_the_decision_deadline_after_the_acceptance(console, application):
    send_form(console, move_of(application, "approved"))
    assert LoanTerms.objects.get().amount_cents == 1_000_000  # Empty fields have the requested figures.
    assert "0 min of 30 days" in text_of(console.get(page_of(application)))
    accept_terms(client_of(application.consumer), application)
    assert "0 min of 30 days" not in text_of(console.get(page_of(application)))
