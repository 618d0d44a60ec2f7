"""Test outcomes of sandbox verifications on the hosted page and over the sandbox API."""

from datetime import timedelta

import pytest
from django.test import Client

from identity.providers.base import NameMatch
from identity.providers.plaid import name_match_of
from tests.api import assert_error
from tests.config.test_moments import HTML_TIME
from tests.identity.banking import age, page_of, read, row_of, start, statuses_of, submit_outcome

pytestmark = pytest.mark.django_db


def test_sandbox_identity_verification_page_offers_every_outcome(api):
    response = Client().get(page_of(start(api)))
    assert response.status_code == 200
    page = response.content.decode()
    assert page.count('type="radio"') == 3
    assert "<script" not in page
    assert 'style="' not in page
    assert HTML_TIME.search(page)
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]
    assert response.headers["Cache-Control"] == "no-store"


def test_first_submission_of_a_sandbox_verification_outcome_redirects_to_the_result_page(api, user):
    shown = start(api, {"redirect_uri": "https://shop.example/back?a=1&b=2"})
    response = submit_outcome(shown, "pass")
    assert (response.status_code, response.headers["Location"]) == (303, page_of(shown))
    page = Client().get(page_of(shown)).content.decode()
    assert "Verification finished" in page
    assert 'href="https://shop.example/back?a=1&amp;b=2"' in page
    assert "<form" not in page
    assert submit_outcome(shown, "fail").status_code == 303
    assert read(api, shown["verification_id"]).json()["status"] == "verified"
    assert statuses_of(user) == ["requires_input", "processing", "verified"]


def test_unknown_sandbox_verification_outcome_shows_the_form_again(api):
    shown = start(api, {"redirect_uri": 'https://shop.example/"><script>alert(1)</script>'})
    assert Client(enforce_csrf_checks=True).post(page_of(shown), {"outcome": "pass"}).status_code == 403
    for outcome in ("", "verified", "PASS", "\0"):
        response = submit_outcome(shown, outcome)
        assert response.status_code == 400
        assert 'role="alert"' in response.content.decode()
    assert row_of(shown).status == "requires_input"
    submit_outcome(shown, "pass")
    assert "<script" not in Client().get(page_of(shown)).content.decode()


def test_superseded_or_expired_identity_verification_accepts_no_outcome(api):
    first, second = start(api), start(api, {"redirect_uri": "https://example.org/"})
    submit_outcome(first, "pass")
    assert row_of(first).status == "canceled"
    age(second["verification_id"], expires_at=timedelta(hours=25))
    submit_outcome(second, "pass")
    assert row_of(second).status == "requires_input"
    assert "<form" not in Client().get(page_of(second)).content.decode()
    assert_error(simulate(api, second["verification_id"]), 400, "E3004")
    assert row_of(second).status == "requires_input"


def test_unknown_sandbox_identity_verification_page_or_page_of_another_vendor_returns_404(api, plaid, settings):
    settings.OPEN_BANKING = "sandbox"
    shown = start(api)
    settings.OPEN_BANKING = "plaid"
    for path in (page_of(shown), *(f"/v1/kyc/sandbox/{token}" for token in ("unknown", "%00", "a" * 3000))):
        for response in (Client().get(path), Client().post(path, {"outcome": "pass"})):
            assert response.status_code == 404
            assert "Nothing to verify here" in response.content.decode()
    assert row_of(shown).status == "requires_input"


def simulate(client, verification_id, outcome="verified"):
    return client.send(f"/sandbox/verifications/{verification_id}/outcome", {"outcome": outcome})


@pytest.mark.parametrize(("outcome", "word"), [("verified", "pass"), ("failed", "fail"), ("pending_review", "review")])
def test_sandbox_identity_verification_outcomes_set_by_api_and_by_page_are_equal(
    api, user, stranger_api, outcome, word
):
    by_call, by_page = start(api), start(stranger_api)
    assert row_of(by_page).name_match == by_page["name_match"] == "unknown"
    answer = simulate(api, by_call["verification_id"], outcome)
    assert answer.status_code == 200, answer.content
    assert answer.json()["status"] == outcome
    assert answer.json() == read(api, by_call["verification_id"]).json()
    assert statuses_of(user) == ["requires_input", "processing", outcome]
    assert (answer.json()["completed_at"] is not None, answer.json()["hosted_url"]) == (
        outcome != "pending_review",
        None,
    )
    if outcome == "failed":
        assert answer.json()["last_error"]["code"] == "verification_failed"
        assert answer.json()["last_error"]["steps"] == ["selfie_check"]
    assert submit_outcome(by_page, word).status_code == 303
    assert answer.json()["name_match"] == {"pass": "match", "review": "partial", "fail": "no_match"}[word]
    for name in ("status", "name_match", "provider_status", "steps", "last_error"):
        assert getattr(row_of(by_call), name) == getattr(row_of(by_page), name)


def test_ended_identity_verification_rejects_a_sandbox_outcome(api):
    shown = start(api)
    simulate(api, shown["verification_id"], "pending_review")
    body = assert_error(simulate(api, shown["verification_id"], "verified"), 400, "E3004")
    assert body["details"] == {"from": "pending_review", "to": "verified"}
    assert "Allowed" not in body["message"]
    assert row_of(shown).status == "pending_review"


def test_sandbox_outcome_for_another_vendors_identity_verification_returns_404(api, settings):
    shown = start(api)
    settings.OPEN_BANKING = "plaid"
    assert_error(simulate(api, shown["verification_id"]), 404, "E4005")


DOCUMENTS = [
    ({"kyc_check": {"name": {"summary": "match"}}}, "match"),
    ({"kyc_check": {"name": {"summary": "partial_match"}}}, "partial"),
    ({"kyc_check": {"name": {"summary": "no_match"}}}, "no_match"),
    ({"kyc_check": {"name": {"summary": "no_data"}}}, "unknown"),
    ({"kyc_check": {"name": {"summary": ["match"]}}}, "unknown"), ({"kyc_check": {"name": "match"}}, "unknown"),
    ({"kyc_check": None}, "unknown"), ({}, "unknown"),
]  # fmt: skip


def test_identity_verification_name_match_is_parsed_from_plaids_values():
    for document, word in DOCUMENTS:
        assert name_match_of(document) == NameMatch(word), document
