"""Test the principal reasons of a rejection (`metadata.reasons`)."""

import pytest

from credit.core.reasons import REASONS
from credit.models import Application, ApplicationHistory
from tests.api import assert_error, client_of
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.usefixtures("reviewed")

OTHER = {"code": "other", "text": "The car is older than we finance"}


@pytest.fixture
def application(db):
    return ApplicationFactory(status="under_review")


@pytest.fixture
def reviewer(db):
    return client_of(make_reviewer())


def reject(client, application, metadata=None, **members):
    body = {"status": "rejected", "updated_by": "r", "metadata": metadata, **members}
    return client.replace(f"/applications/{application.pk}/status", body)


def test_rejection_with_invalid_reasons_fails_and_stores_nothing(reviewer, application):
    for metadata in (
        None, [], "no_credit_file", {}, {"reasons": []}, {"reasons": None}, {"reasons": "no_credit_file"},
        {"reasons": ["unheard_of"]}, {"reasons": ["other"]}, {"reasons": [7]}, {"reasons": [None]},
        {"reasons": [["no_credit_file"]]}, {"reasons": ["no_credit_file", "no_credit_file"]},
        {"reasons": list(REASONS)[:5]}, {"reasons": [{"code": "other"}]}, {"reasons": [{**OTHER, "more": 1}]},
        {"reasons": [{"code": "bankruptcy", "text": "x"}]}, {"reasons": [{"code": "other", "text": " "}]},
        {"reasons": [{"code": "other", "text": "x" * 121}]}, {"reasons": [{"code": "other", "text": 1}]},
        {"reasons": [OTHER, OTHER]}, {"reasons": [{"code": ["other"], "text": "x"}]},
    ):  # fmt: skip
        body = assert_error(reject(reviewer, application, metadata), 400, "E1017")
        assert "bankruptcy" in body["details"]["codes"], metadata
    application.refresh_from_db()
    assert application.status == "under_review"
    assert not ApplicationHistory.objects.exists()


def test_reviewers_reason_replaces_the_text_that_is_generated_from_the_codes(reviewer, application):
    reasons = ["income_insufficient", OTHER]
    assert reject(reviewer, application, {"reasons": reasons}).json()["status_reason"] == (
        "Income insufficient for amount of credit requested; The car is older than we finance."
    )
    assert ApplicationHistory.objects.get().metadata == {"reasons": reasons}
    for reason in ("We are sorry.", ""):
        other = ApplicationFactory(status="under_review")
        answer = reject(reviewer, other, {"reasons": ["bankruptcy"]}, reason=reason)
        assert answer.json()["status_reason"] == reason


def test_applicant_can_reject_their_application_only_under_the_open_policy(application, settings):
    applicant = client_of(application.consumer)
    assert_error(reject(applicant, application), 403, "E2010")
    settings.REVIEW_POLICY = "open"
    assert reject(applicant, application).json()["status_reason"] is None


def test_proposed_rejection_requires_reasons(reviewer, application, settings):
    settings.REVIEW_POLICY = "four_eyes"
    assert_error(reject(reviewer, application), 400, "E1017")
    assert reject(reviewer, application, {"reasons": ["bankruptcy"]}).json()["pending_decision"]["to"] == "rejected"


EMPTY = [
    "Model decision", "Insufficient points", "Does not meet credit policy", "Did not meet our lending criteria",
    "Rejected by scorecard", "Declined by our automated system", "Below the minimum required", "High risk profile",
    "Not eligible under our internal rules", "Underwriting guidelines not met", "Low rating", "Application denied",
    "Other", "n/a", "---", "42", "No cumple la política de crédito", "Puntuación insuficiente", "Decisión del modelo",
    "\uff2dodel\u3000decision", "Credit-policy", "The applicant's creditworthiness was insufficient",
    "Credit score too low", "Failed to reach a qualifying score", "Internal guideline about cars",
]  # fmt: skip
SPECIFIC = [
    "Insufficient income", "Length of employment", "The car is older than we finance", "Amount above the car's value",
    "Applicant is below the minimum age", "Too many open loans", "Ingresos insuficientes", "収入が不足しています",
    "Недостаточный доход",
    "No bank account", "Rental history", "Fraud alert on file",
]  # fmt: skip


def test_rejection_reason_without_a_specific_factor_is_rejected(reviewer, application):
    for text in EMPTY:
        reasons = ["bankruptcy", {"code": "other", "text": text}]
        body = assert_error(reject(reviewer, application, {"reasons": reasons}), 400, "E1017")
        assert body["message"] == (
            f'`reasons[1]` has no specific factor: "{text}". Name what was insufficient, such as income, '
            "length of employment, or collateral."
        )


def test_rejection_reason_with_a_specific_factor_is_accepted(reviewer, application):
    for text in SPECIFIC:
        assert reject(reviewer, application, {"reasons": [{"code": "other", "text": text}]}).status_code == 200, text
        Application.objects.update(status="under_review")


def test_rejection_reason_about_a_consumer_report_requires_the_report(reviewer, application, settings):
    settings.REPORTS = "off"
    reasons = {"reasons": ["inquiries_recent"]}
    body = assert_error(reject(reviewer, application, reasons), 400, "E1017")
    assert "inquiries_stated" in body["message"]
    report = {"agency": "Example Bureau", "address": "1 File Street", "phone": "800-555-0100"}
    assert reject(reviewer, application, {**reasons, "consumer_report": report}).status_code == 200
    stated = ApplicationFactory(status="under_review")
    assert reject(reviewer, stated, {"reasons": ["inquiries_stated"]}).status_code == 200
