"""The principal reasons of a rejection (`metadata.reasons`)."""

import pytest

from credit.core.reasons import REASONS
from credit.models import ApplicationHistory
from tests.api import assert_error, client_of
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory

OTHER = {"code": "other", "text": "The car is older than we finance"}


@pytest.fixture
def application(db):
    return ApplicationFactory(status="under_review")


@pytest.fixture
def reviewer(db):
    made = make_reviewer()
    return client_of(made)


@pytest.fixture(autouse=True)
def _reviewed(settings):
    settings.REVIEW_POLICY = "reviewed"


def reject(client, application, metadata=None, **members):
    body = {"status": "rejected", "updated_by": "r", "metadata": metadata, **members}
    return client.replace(f"/applications/{application.pk}/status", body)


@pytest.mark.parametrize("metadata", [
    None, [], "no_credit_file", {}, {"reasons": []}, {"reasons": None}, {"reasons": "no_credit_file"},
    {"reasons": ["unheard_of"]}, {"reasons": ["other"]}, {"reasons": [7]}, {"reasons": [None]},
    {"reasons": [["no_credit_file"]]}, {"reasons": ["no_credit_file", "no_credit_file"]},
    {"reasons": list(REASONS)[:5]}, {"reasons": [{"code": "other"}]}, {"reasons": [{**OTHER, "more": 1}]},
    {"reasons": [{"code": "bankruptcy", "text": "x"}]}, {"reasons": [{"code": "other", "text": " "}]},
    {"reasons": [{"code": "other", "text": "x" * 121}]}, {"reasons": [{"code": "other", "text": 1}]},
    {"reasons": [OTHER, OTHER]}, {"reasons": [{"code": ["other"], "text": "x"}]},
])  # fmt: skip
def test_a_rejection_without_proper_reasons_is_refused_and_writes_nothing(reviewer, application, metadata):
    body = assert_error(reject(reviewer, application, metadata), 400, "E1017")
    assert "bankruptcy" in body["details"]["codes"]
    application.refresh_from_db()
    assert application.status == "under_review"
    assert not ApplicationHistory.objects.exists()


def test_the_person_reads_them_in_words_unless_told_otherwise(reviewer, application):
    reasons = ["income_insufficient", OTHER]
    assert reject(reviewer, application, {"reasons": reasons}).json()["status_reason"] == (
        "Income insufficient for amount of credit requested; The car is older than we finance."
    )
    assert ApplicationHistory.objects.get().metadata == {"reasons": reasons}


@pytest.mark.parametrize("reason", ["We are sorry.", ""])
def test_the_reviewers_own_words_win(reviewer, application, reason):
    answer = reject(reviewer, application, {"reasons": ["bankruptcy"]}, reason=reason)
    assert answer.json()["status_reason"] == reason


def test_callers_without_permission_get_403_before_validation(application):
    assert_error(reject(client_of(application.consumer), application), 403, "E2010")


def test_the_first_of_two_reviewers_gives_them(reviewer, application, settings):
    settings.REVIEW_POLICY = "four_eyes"
    assert_error(reject(reviewer, application), 400, "E1017")
    assert reject(reviewer, application, {"reasons": ["bankruptcy"]}).json()["pending_decision"]["to"] == "rejected"


def test_the_open_policy_requires_no_reason(application, settings):
    settings.REVIEW_POLICY = "open"
    assert reject(client_of(application.consumer), application).json()["status_reason"] is None
