"""Test sent and derived approval terms, terms outside the offer, acceptance, and proposals."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from itertools import product

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone

from config.core.json_text import canonical_json
from config.core.lifecycle import Actor
from credit.core.errors import NothingToAccept, TermsChanged, TermsOutsideOffer
from credit.core.quotes import make_quote
from credit.models import Acceptance, Application, ApplicationHistory, LoanTerms, Offer, Proposal
from credit.terms import acceptance
from credit.terms.loans import Loan, compute, schedule_of, serialize_schedule
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.support import make_reviewer as reviewer
from tests.credit.terms.lending import LINE, accept_terms, acceptance_of, applied, approve, lender_of, listed

pytestmark = pytest.mark.django_db


def acceptance_after(application, days=0):
    """Return the shown acceptance of an application after a number of days."""
    application = Application.objects.get(pk=application.pk)
    return acceptance.describe(application, now=timezone.now() + timedelta(days))


def agree(application, terms_sha256, days=0):
    actor = Actor(user=application.consumer, credential="test")
    now = timezone.now() + timedelta(days)
    acceptance.accept(str(application.pk), terms_sha256=terms_sha256, actor=actor, now=now)


GIVEN = {"amount_cents": 1_200_000, "rate_percent": 7.25, "term_months": 36, "fee_cents": 5_000}


class TestApprovalTerms:
    def test_approval_records_the_terms_and_the_figures_of_the_quote(self, offer):
        application = applied(offer)
        assert approve(lender_of(offer), application, GIVEN).status_code == 200
        terms = LoanTerms.objects.get()
        quote = make_quote(
            offer, amount_cents=1_200_000, term_months=36, apr_percent=terms.rate_percent, fee_cents=5_000,
            first_payment_on=None, method="us_appendix_j", today=timezone.now().date(),
        )  # fmt: skip
        schedule = quote.pop("schedule")
        terms_dict = terms.to_dict()
        assert {name: terms_dict[name] for name in quote} == quote
        assert {name: terms_dict[name] for name in GIVEN} == GIVEN
        assert (terms_dict["kind"], terms_dict["application_id"]) == ("approval", str(application.pk))
        assert terms.terms_sha256 == sha256(canonical_json(terms_dict)).hexdigest()
        assert serialize_schedule(schedule_of(terms)) == schedule
        assert terms.schedule_sha256 == sha256(canonical_json(schedule)).hexdigest()

    def test_missing_approval_terms_default_to_application_and_offer(self, offer, settings):
        names = ("amount_cents", "rate_percent", "term_months", "fee_cents")
        for settings.REVIEW_POLICY in ("open", "reviewed"):
            for given, expected in (
                ({}, (1_000_000, 6.9, 24, 0)), ({"rate_percent": 9}, (1_000_000, 9, 24, 0)),
                ({"term_months": 12, "fee_cents": 100}, (1_000_000, 6.9, 12, 100)),
                ({"amount_cents": 500_000, "term_months": None}, (500_000, 6.9, 24, 0)),
                *([(None, (1_000_000, 6.9, 24, 0))] if settings.REVIEW_POLICY == "reviewed" else []),
            ):  # fmt: skip
                application = applied(offer)
                assert approve(lender_of(offer), application, given).status_code == 200
                terms = LoanTerms.objects.get(application=application).to_dict()
                assert tuple(terms[name] for name in names) == expected

    def test_approval_without_terms_is_accepted_under_the_open_policy(self, offer, django_assert_max_num_queries):
        application = applied(offer)
        assert approve(lender_of(offer), application).status_code == 200
        assert not LoanTerms.objects.exists()
        assert acceptance_of(lender_of(offer), application)["terms"] == application.offer_snapshot

    @pytest.mark.usefixtures("reviewed")
    def test_approval_for_an_unlisted_offer_accepts_any_or_no_terms(self, user):
        other = {"offer_id": 99, "offer_snapshot": None, "offer_version": None}
        offer, judge = listed(), client_of(reviewer())
        assert approve(judge, applied(offer, **other)).status_code == 200
        assert not LoanTerms.objects.exists()
        assert approve(judge, applied(offer, **other), {**GIVEN, "rate_percent": 99.5}).status_code == 200
        assert_error(approve(judge, applied(offer, **other), {"amount_cents": 5}), 400, "E1018")

    def test_approval_at_the_single_rate_of_an_offer_is_accepted_despite_rounding_to_cents(self):
        offer = listed(apr_min_percent=9.9, apr_max_percent=9.9, loan_amount_min_cents=None)
        for cents in (12_345, 54_321, 99_999):
            assert approve(lender_of(offer), applied(offer), {"amount_cents": cents}).status_code == 200

    def test_stored_loan_terms_cannot_be_changed_or_deleted(self, offer):
        approve(lender_of(offer), applied(offer), {})
        for change in (lambda: LoanTerms.objects.update(amount_cents=1), lambda: LoanTerms.objects.all().delete()):
            with pytest.raises(DatabaseError), transaction.atomic():
                change()

    def test_reopening_removes_the_loan_terms_from_the_application(self, offer):
        application = applied(offer)
        lender = lender_of(offer)
        approve(lender, application, {})
        lender.replace(f"/applications/{application.pk}/status", {"status": "under_review", "updated_by": "x"})
        application.refresh_from_db()
        assert application.loan_terms is None
        assert approve(lender, application, {"term_months": 12}).status_code == 200
        assert LoanTerms.objects.count() == 2
        application.refresh_from_db()
        assert application.loan_terms.term_months == 12


class TestRejectedTerms:
    def test_approval_terms_outside_the_offer_are_rejected_with_the_exceeded_limit(self, offer):
        application = applied(offer)
        for terms, member, bound in (
            ({"amount_cents": 99_999}, "amount_cents", 100_000),
            ({"amount_cents": 4_000_001}, "amount_cents", 4_000_000),
            ({"term_months": 13}, "term_months", [12, 24, 36, 60]), ({"rate_percent": 6.8999}, "rate_percent", 6.9),
            ({"rate_percent": 17.5001}, "rate_percent", 17.5),
            ({"rate_percent": 17, "fee_cents": 90_000}, "fee_cents", 17.5),
        ):  # fmt: skip
            error = assert_error(approve(lender_of(offer), application, terms), 400, "E1019")
            details = [(detail["field"], detail["bound"]) for detail in error["details"]]
            assert details == [(f"metadata.terms.{member}", bound)]
        Offer.objects.filter(pk=offer.pk).update(apr_cap=10.0)
        capped = applied(Offer.objects.get(pk=offer.pk))
        terms = {"rate_percent": 9.5, "fee_cents": 100_000}
        assert_error(approve(lender_of(offer), capped, terms), 400, "E1023")
        assert not LoanTerms.objects.exists()

    def test_permission_and_status_are_checked_before_the_terms(self, offer, settings):
        settings.REVIEW_POLICY, wrong = "reviewed", {"amount_cents": 1}
        application, draft = applied(offer), applied(offer, status="draft")
        assert_error(approve(client_of(application.consumer), application, wrong), 403, "E2010")
        assert_error(approve(lender_of(offer), draft, wrong), 404, "E4002")
        assert_error(approve(lender_of(offer), applied(offer, status="submitted"), wrong), 400, "E3001")
        assert not LoanTerms.objects.exists()

    def test_short_first_period_that_raises_the_apr_above_the_maximum_is_rejected(self):
        """From 31 January, two payments at 17.5 %, the first after ten days, have an APR of 18.4 % by Appendix J."""
        application = applied(listed(term_options_months=[2]))
        loan = Loan(1_000_000, Decimal("17.5"), 2, first_payment_on=date(2026, 2, 10))
        for kind in ("approved", "counteroffer"):
            with pytest.raises(TermsOutsideOffer) as refusal:
                compute(application, loan, kind=kind, now=datetime(2026, 1, 31, 12, tzinfo=UTC))
            [detail] = refusal.value.details
            assert (detail["field"], detail["bound"]) == ("metadata.terms.first_payment_on", 17.5)

    def test_approval_at_the_highest_rate_is_accepted_if_only_rounding_raises_the_apr(self):
        now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        application = applied(listed(term_options_months=[12, 600], loan_amount_min_cents=1))
        cases = product((1, 999, 1_000_000), (None, 20, 45, 90), (12,))
        for amount_cents, days, months in (*cases, (1, 20, 600), (1_000_000, None, 600)):
            first = None if days is None else now.date() + timedelta(days)
            loan = Loan(amount_cents, Decimal("17.5"), months, first_payment_on=first)
            assert compute(application, loan, kind="approval", now=now).rate_percent == Decimal("17.5")

    @pytest.mark.usefixtures("reviewed")
    def test_approval_requires_each_term_that_application_and_offer_do_not_determine(self, offer):
        for data in (None, {}, {"amount_cents": 500_000}, {"term_months": 12}, {"amount_cents": "a"}):
            assert_error(approve(lender_of(offer), applied(offer, data=data)), 400, "E1018")
        Offer.objects.filter(pk=offer.pk).update(apr_min_percent=None, apr_max_percent=None)
        application = applied(Offer.objects.get(pk=offer.pk))
        assert_error(approve(lender_of(offer), application), 400, "E1018")
        assert approve(lender_of(offer), application, {"rate_percent": 3}).status_code == 200

    def test_error_for_invalid_approval_terms_contains_the_field(self, offer):
        application = applied(offer)
        for terms in ("all", [], 7, {"rate": 7}):
            error = assert_error(approve(lender_of(offer), application, terms), 400, "E1001")
            assert error["details"][0]["field"] == "metadata.terms"
        for member, values in {
            "amount_cents": (0, 10**18, 1.5, True), "rate_percent": ("7", -1, 7.00001, 10**18, True),
            "term_months": (601, "12"), "fee_cents": (-1, 1_000_000),
            "first_payment_on": ("soon", 20270101, "2001-01-01", "2190-01-01"),
        }.items():  # fmt: skip
            for value in values:
                error = assert_error(approve(lender_of(offer), application, {member: value}), 400, "E1001")
                assert error["details"][0]["field"] == f"metadata.terms.{member}", value


class TestLineOfCredit:
    def test_amount_of_a_line_of_credit_is_a_limit_without_computed_payments(self):
        offer = listed(**LINE)
        application = applied(offer)
        assert approve(lender_of(offer), application, {"fee_cents": 900}).status_code == 200
        shown = acceptance_of(lender_of(offer), application)
        assert (shown["terms"]["amount_cents"], shown["terms"]["rate_percent"]) == (1_000_000, 6.9)
        nothing = ("term_months", "first_payment_on", "payment_cents", "apr_percent", "method", "amount_financed_cents")
        assert [shown["terms"][name] for name in nothing] == [None] * 6
        assert shown["schedule"] is None
        # The application has a term, which a line of credit can't have.
        explanation = client_of(application.consumer).read(f"/applications/{application.pk}/explanation").json()
        assert explanation["outcome"] == "approval"
        assert accept_terms(client_of(application.consumer), application).status_code == 200

    def test_approval_of_a_line_of_credit_rejects_loan_terms(self):
        offer = listed(**LINE)
        for terms, code in (
            ({"term_months": 12}, "E1019"), ({"rate_percent": 18}, "E1019"),
            ({"first_payment_on": "2027-01-01"}, "E1001"),
        ):  # fmt: skip
            assert_error(approve(lender_of(offer), applied(offer), terms), 400, code)


class TestAcceptance:
    def test_acceptance_response_contains_the_loan_and_its_schedule(self, offer):
        application = applied(offer)
        approve(lender_of(offer), application, GIVEN)
        shown = acceptance_of(client_of(application.consumer), application)
        assert shown["acceptable"] is True
        assert shown["terms_sha256"] == sha256(canonical_json(shown["terms"])).hexdigest()
        assert (
            sum(payment["payment_cents"] for payment in shown["schedule"]) == shown["terms"]["total_of_payments_cents"]
        )
        taken = accept_terms(client_of(application.consumer), application).json()
        assert (taken["terms"], taken["acceptable"]) == (shown["terms"], False)
        assert Acceptance.objects.get().loan_terms == LoanTerms.objects.get()

    def test_loan_terms_cannot_be_accepted_with_the_hash_of_the_offer_terms(self, offer):
        application = applied(offer)
        approve(lender_of(offer), application, {})
        offers = application.terms_sha256
        error = assert_error(accept_terms(client_of(application.consumer), application, offers), 400, "E3012")
        assert error["details"]["terms"]["amount_cents"] == 1_000_000

    def test_acceptance_on_a_later_day_changes_only_due_dates(self, offer):
        application = applied(offer)
        approve(lender_of(offer), application, GIVEN)
        before, after = acceptance_after(application), acceptance_after(application, days=17)
        assert (after.terms, after.terms_sha256) == (before.terms, before.terms_sha256)
        assert after.as_of > before.as_of
        figures = [[replace(item, due_on=None) for item in shown.schedule] for shown in (before, after)]
        assert figures[0] == figures[1]
        for days in (17, 19):
            agree(application, before.terms_sha256, days=days)
            assert Acceptance.objects.get().loan_terms.as_of.isoformat() == after.as_of
            assert acceptance_after(application, days=days).as_of == after.as_of

    def test_acceptance_on_a_later_day_changes_the_terms_if_the_first_payment_date_is_fixed(self, offer):
        application = applied(offer)
        first = (timezone.now() + timedelta(days=60)).date().isoformat()
        approve(lender_of(offer), application, {**GIVEN, "first_payment_on": first})
        before = acceptance_after(application)
        with pytest.raises(TermsChanged) as refused, transaction.atomic():
            agree(application, before.terms_sha256, days=5)
        fresh = refused.value.details
        assert fresh["terms"]["total_of_payments_cents"] < before.terms["total_of_payments_cents"]
        assert fresh["terms_sha256"] == acceptance_after(application, days=5).terms_sha256
        agree(application, fresh["terms_sha256"], days=5)
        kept = Acceptance.objects.get().loan_terms
        assert kept.to_dict() == fresh["terms"]
        application.refresh_from_db()
        assert application.loan_terms == kept

    def test_approved_terms_cannot_be_accepted_after_the_first_payment_date(self, offer):
        application = applied(offer)
        first = (timezone.now() + timedelta(days=3)).date().isoformat()
        approve(lender_of(offer), application, {**GIVEN, "first_payment_on": first})
        sha = acceptance_after(application).terms_sha256
        # After this time, the loan can't be accepted.
        assert acceptance_after(application).expires_at.isoformat() == f"{first}T00:00:00+00:00"
        shown = acceptance_after(application, days=3)
        assert (shown.acceptable, shown.terms_sha256) == (False, sha)
        with pytest.raises(NothingToAccept), transaction.atomic():
            agree(application, sha, days=3)


class TestTwoReviewers:
    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.REVIEW_POLICY = "four_eyes"

    def test_approval_proposal_can_be_confirmed_only_with_the_proposed_terms(self, offer):
        application, first, second = applied(offer), client_of(reviewer()), client_of(reviewer())
        answer = approve(first, application, {"rate_percent": 8})
        whole = {
            "amount_cents": 1_000_000, "rate_percent": 8, "term_months": 24, "fee_cents": 0, "first_payment_on": None,
        }  # fmt: skip
        assert answer.json()["pending_decision"]["terms"] == whole
        for person in (first, second):
            assert_error(approve(person, application, {"rate_percent": 9}), 400, "E3001")
        assert Proposal.objects.get().closed_at is None
        assert approve(second, application, {"rate_percent": 8, "term_months": 24}).json()["status"] == "approved"
        assert LoanTerms.objects.get().rate_percent == 8
        assert ApplicationHistory.objects.get().metadata["terms"] == whole
        other = applied(offer)
        approve(first, other, {"rate_percent": 8})
        confirmed = approve(second, other, metadata={"note": 1})  # A confirmation without terms has the proposed terms.
        assert confirmed.json()["status"] == "approved", confirmed.content
        assert LoanTerms.objects.get(application=other).rate_percent == 8

    def test_proposal_with_terms_outside_the_offer_is_rejected(self, offer):
        assert_error(approve(client_of(reviewer()), applied(offer), {"rate_percent": 5}), 400, "E1019")
        too_dear = {"rate_percent": 17, "fee_cents": 90_000}
        assert_error(approve(client_of(reviewer()), applied(offer), too_dear), 400, "E1019")
        assert not Proposal.objects.exists()

    def test_rejection_proposal_with_terms_in_its_metadata_creates_no_loan(self, offer):
        first, second = client_of(reviewer()), client_of(reviewer())
        rejected = applied(offer)
        said = {"terms": 5, "reasons": ["no_credit_file"]}
        answer = approve(first, rejected, status="rejected", metadata=said)
        assert answer.json()["pending_decision"]["terms"] is None
        page = backoffice_client(staff_of("Reviewer")).get(reverse("admin:credit_proposal_changelist"))
        assert page.status_code == 200
        assert approve(second, rejected, status="rejected", metadata=said).json()["status"] == "rejected"
        elsewhere = applied(offer, offer_id=99, offer_snapshot=None)
        approve(first, elsewhere, metadata=["just so"])
        assert_error(approve(second, elsewhere, GIVEN), 400, "E3001")
