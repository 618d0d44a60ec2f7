"""Test that GET /v1/kyc/status/{verification_id} reads the status from the vendor at most every 10 s."""

from datetime import timedelta
from itertools import product

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from identity.kyc.models import KycVerification, KycVerificationHistory
from identity.kyc.services import apply_state, expire_verifications
from identity.providers.choice import open_banking
from tests.api import assert_error, client_of
from tests.factories import UserFactory
from tests.identity.banking import age, read, row_of, start, statuses_of
from tests.identity.plaid_double import Fault
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db
LATER = timedelta(seconds=11)


def count_status_requests(plaid):
    return len(plaid.requests_at("/identity_verification/get"))


def test_identity_verification_read_returns_the_vendors_status(judged_plaid, api, user):
    shown = start(api)
    identifier, reference = shown["verification_id"], row_of(shown).provider_reference
    judged_plaid.settle(reference, "active", accept_tos="success", kyc_check="success", selfie_check="active")
    age(identifier, refreshed_at=LATER)
    body = read(api, identifier).json()
    assert (body["status"], body["provider_status"], body["steps"]["kyc_check"]) == (
        "processing", "active", "success",
    )  # fmt: skip
    judged_plaid.settle(reference, "success", selfie_check="success")
    age(identifier, refreshed_at=LATER)
    assert read(api, identifier).json()["status"] == "verified"
    moves = KycVerificationHistory.objects.order_by("position").values_list("previous_status", "status", "credential")
    assert list(moves) == [
        ("requires_input", "processing", "provider:plaid"), ("processing", "verified", "provider:plaid"),
    ]  # fmt: skip
    assert statuses_of(user) == ["requires_input", "processing", "verified"]


def test_identity_verification_reads_call_the_vendor_at_most_once_in_10_seconds(plaid, api):
    identifier = start(api)["verification_id"]
    for _ in range(3):
        read(api, identifier)
    assert count_status_requests(plaid) == 0
    age(identifier, refreshed_at=LATER)
    for _ in range(3):
        read(api, identifier)
    assert count_status_requests(plaid) == 1


def test_concurrent_reads_of_an_identity_verification_call_the_vendor_only_once(
    committed, needs_postgresql, plaid, user
):
    client = client_of(user)
    identifier = start(client)["verification_id"]
    age(identifier, refreshed_at=LATER)
    answers = run_concurrently(*[lambda: read(client, identifier)] * 6)
    assert [answer.status_code for answer in answers] == [200] * 6
    assert count_status_requests(plaid) == 1


def read_later(plaid, api, shown, said, **ages):
    """Set the status at the vendor, and return the verification as read more than 10 s later."""
    plaid.settle(row_of(shown).provider_reference, said)
    age(shown["verification_id"], refreshed_at=LATER, **ages)
    response = read(api, shown["verification_id"])
    assert response.status_code == 200
    return response.json()


@pytest.mark.parametrize("status", ["success", "failed"])
def test_ended_identity_verification_is_not_read_from_the_vendor(plaid, api, status):
    shown = start(api)
    for _ in range(2):
        read_later(plaid, api, shown, status)
    assert count_status_requests(plaid) == 1


def test_vendors_final_decision_ends_a_pending_identity_verification_review(plaid, db):
    for said, status in (
        ("success", "verified"), ("failed", "failed"), ("expired", "pending_review"), ("canceled", "pending_review"),
        ("active", "pending_review"), ("pending_review", "pending_review"), ("in_appeal", "pending_review"),
    ):  # fmt: skip
        api = client_of(UserFactory())
        shown = start(api)
        read_later(plaid, api, shown, "pending_review")
        body = read_later(plaid, api, shown, said)
        assert (body["status"], body["provider_status"]) == (status, said)


def test_unknown_vendor_status_does_not_change_an_identity_verification(plaid, api):
    shown = start(api)
    for word in (  # statuses that the vendor may add, and statuses of other vendors
        "manual_review", "consider", "in_review", "resubmission_requested", "SUCCESS", "on_hold", "awaiting_input",
        "created", "approved", "declined", "unknown",
    ):  # fmt: skip
        body = read_later(plaid, api, shown, word)
        assert (body["status"], body["provider_status"]) == ("requires_input", word)


def test_identity_verification_finished_after_its_expiry_gets_the_vendors_status(plaid, db):
    for (said, status, error), has_another in product((
        ("success", "verified", None), ("failed", "failed", "verification_failed"),
        ("pending_review", "pending_review", "verification_expired"), ("active", "expired", "verification_expired"),
        ("expired", "expired", "verification_expired"), ("canceled", "expired", "verification_expired"),
    ), (False, True)):  # fmt: skip
        api = client_of(UserFactory())
        shown = start(api)
        age(shown["verification_id"], expires_at=timedelta(hours=25))
        assert expire_verifications(now=timezone.now()) == {"verifications_expired": 1}
        if has_another:
            assert start(api)["attempt"] == 2
        body = read_later(plaid, api, shown, said)
        assert (body["status"], (body["last_error"] or {}).get("code")) == (status, error)


def test_superseded_identity_verification_that_was_finished_later_gets_the_vendors_status(plaid, db):
    for said, status in (
        ("success", "verified"), ("failed", "failed"), ("pending_review", "pending_review"), ("active", "canceled"),
        ("canceled", "canceled"), ("expired", "canceled"),
    ):  # fmt: skip
        api = client_of(UserFactory())
        first = start(api)
        assert start(api, {"redirect_uri": "https://example.org/"})["attempt"] == 2
        assert read_later(plaid, api, first, said)["status"] == status


def test_started_identity_verification_that_ends_at_the_vendor_fails(plaid, db):
    for said in ("expired", "canceled"):
        api = client_of(UserFactory())
        body = read_later(plaid, api, start(api), said)
        assert (body["status"], body["last_error"]["code"]) == (said, f"verification_{said}")
    api = client_of(UserFactory())
    shown = start(api)
    reference = row_of(shown).provider_reference
    plaid.settle(reference, "active", kyc_check="success")
    apply_state(row_of(shown), open_banking().read_verification(reference), now=timezone.now())
    body = read_later(plaid, api, shown, "expired")
    assert (body["status"], body["last_error"]["code"]) == ("failed", "verification_expired")


def test_abandoned_identity_verification_expires_if_the_vendor_reports_no_end(plaid, api, stranger_api, user):
    overdue = {"expires_at": timedelta(hours=25)}
    assert read_later(plaid, stranger_api, start(stranger_api), "success", **overdue)["status"] == "verified"
    body = read_later(plaid, api, start(api), "active", **overdue)
    assert (body["status"], body["last_error"]["code"]) == ("expired", "verification_expired")
    assert statuses_of(user) == ["requires_input", "expired"]


def test_identity_verification_read_during_a_vendor_outage_returns_502_and_delays_the_next_vendor_call(plaid, api):
    identifier = start(api)["verification_id"]
    age(identifier, refreshed_at=LATER)
    plaid.fail("/identity_verification/get", Fault(500, b"oops"))
    assert_error(read(api, identifier), 502, "E5003")
    assert read(api, identifier).json()["status"] == "requires_input"
    assert count_status_requests(plaid) == 1


def test_applying_the_same_identity_verification_state_repeatedly_changes_the_status_only_once(plaid, api, user):
    shown = start(api)
    reference = row_of(shown).provider_reference
    plaid.settle(reference, "failed", kyc_check="failed")
    state = open_banking().read_verification(reference)
    for _ in range(3):
        apply_state(row_of(shown), state, now=timezone.now())
    assert statuses_of(user) == ["requires_input", "processing", "failed"]
    assert row_of(shown).last_error["steps"] == ["kyc_check"]


def test_concurrent_identity_verification_updates_change_the_status_only_once(committed, needs_postgresql, plaid, user):
    shown = start(client_of(user))
    reference = row_of(shown).provider_reference
    plaid.settle(reference, "success")
    state = open_banking().read_verification(reference)
    run_concurrently(*[lambda: apply_state(row_of(shown), state, now=timezone.now())] * 6)
    assert statuses_of(user) == ["requires_input", "processing", "verified"]


def test_identity_verification_of_another_vendor_is_returned_as_stored(plaid, api, settings):
    identifier = start(api)["verification_id"]
    settings.OPEN_BANKING = "sandbox"
    age(identifier, refreshed_at=LATER)
    assert read(api, identifier).json()["status"] == "requires_input"


def test_identity_verification_history_cannot_be_changed(api):
    start(api)
    start(api, {"redirect_uri": "https://example.org/"})
    assert KycVerification.objects.count() == 2
    for change in (lambda rows: rows.update(status="verified"), lambda rows: rows.delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change(KycVerificationHistory.objects.all())
