"""Test the effects of POST /v1/sandbox/clock. test_clock_properties.py compares them with waiting."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone
from oauth2_provider.models import Grant

from config.api.models import IdempotencyRecord
from config.core.lifecycle import Actor
from config.core.registration import declared
from config.sandbox import clock
from config.sandbox.views import ClockDone
from config.webhooks.models import Event
from credit.models import ApplicationHistory, DecisionAnchor
from identity.access import tokens
from identity.models import ApiKey, RefreshToken, TokenFamily
from payments.cards.models import Payment
from tests.api import ApiClient, assert_error, bearer_of
from tests.credit.support import move
from tests.credit.terms.lending import SAID, applied, lender_of, listed
from tests.factories import ApplicationFactory, ClaimFactory, ProviderFactory, StagedItemFactory
from tests.identity.banking import events_of, row_of, start
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.identity.support import issue
from tests.payments.card_support import process
from tests.payments.wallet_support import OTHER_ADDRESS, connected
from tests.sandbox.conftest import seconds_of

pytestmark = pytest.mark.django_db
PATH = "/sandbox/clock"


def stored(record):
    """Return every column of a record as stored."""
    return type(record)._default_manager.filter(pk=record.pk).values().get()


def test_sandbox_clock_advance_does_not_affect_other_accounts(wait, stranger):
    theirs = [ApplicationFactory(consumer=stranger), StagedItemFactory(user=stranger), ClaimFactory(user=stranger)]
    bearer_of(stranger)
    soon = timezone.now() + timedelta(days=40)
    theirs += [issue(stranger, expires_at=soon).record, RefreshToken.objects.get(family__user=stranger)]
    before = [stored(record) for record in theirs]
    wait(days=31)
    assert [stored(record) for record in theirs] == before
    assert not Event.objects.filter(account=stranger, type="api_key.expiring").exists()


def test_sandbox_clock_response_contains_the_documented_count_of_each_worker(db):
    fields, counted = set(ClockDone().fields), set(clock.run_workers(now=timezone.now()))
    assert fields <= counted
    of_nobody = {name for name, _rows in declared("prune_rules")} - fields
    assert counted - fields - of_nobody == {
        "abandoned_document_files", "applicants_indexed", "draft_document_files", "kept_records_of_accounts", "notices",
        "recovery_codes_hashed", "review_statements", "sharing_ended", "unused_apps",
    }  # fmt: skip


def test_sandbox_clock_advanced_by_decades_cannot_be_advanced_further(api, user):
    type(user).objects.filter(pk=user.pk).update(date_joined=timezone.now() - timedelta(days=365 * 56))
    body = assert_error(api.send(PATH, {"advance_seconds": seconds_of(days=400)}), 400, "E1001")
    assert "new account" in body["message"]


def test_advancing_the_clock_by_30_days_expires_idle_applications_and_log_ins(user):
    application = ApplicationFactory(consumer=user, status="draft")
    pair = tokens.start_family(user=user, now=timezone.now())
    token = ApiClient(bearer=pair.access_token)

    def advance(days):
        answer = token.send(PATH, {"advance_seconds": seconds_of(days=days)})
        assert answer.status_code == 200, answer.content
        return answer.json()["done"]

    assert advance(29) == dict.fromkeys(ClockDone().fields, 0)
    assert token.read("/auth/me").status_code == 200
    done = advance(1)
    assert (done["applications_expired"], done["refresh_tokens"], done["token_families"]) == (1, 1, 1)
    application.refresh_from_db()
    assert application.status == "expired"
    assert [kind for kind, _ in events_of(user, "application.")] == ["application.expired"]
    move = ApplicationHistory.objects.get(application=application)
    assert abs(timezone.now() - move.changed_at) < timedelta(hours=1)
    assert_error(ApiClient().send("/auth/refresh", {"refresh_token": pair.refresh_token}), 401, "E2002")
    assert "Log in again" in assert_error(token.read("/auth/me"), 401, "E2003")["message"]


def test_api_key_that_expires_during_a_clock_advance_is_announced(wait, user):
    issued = issue(user, expires_at=timezone.now() + timedelta(days=20))
    own = ApiClient(api_key=issued.key)
    assert wait(own, days=21)["api_keys_announced"] == 1
    (event,) = events_of(user, "api_key.expiring")
    assert event[1]["api_key_id"] == issued.record.pk
    assert_error(own.read("/auth/me"), 401, "E2009")  # The call can end the key of its caller.


def test_sessions_ended_by_a_new_password_remain_ended_after_a_clock_advance(wait, user):
    old = bearer_of(user)
    user.set_password("another password")
    user.save()
    changed = user.credentials_changed_at
    new = bearer_of(user)
    wait(days=10)
    user.refresh_from_db()
    assert user.credentials_changed_at == changed
    assert_error(ApiClient(bearer=old).read("/auth/me"), 401, "E2002")
    assert ApiClient(bearer=new).read("/auth/me").status_code == 200
    assert TokenFamily.objects.filter(user=user).count() == 2


def test_clock_advance_by_seconds_permits_vendor_calls_and_expires_authorization_codes(wait, api, user):
    client, secret = make_client(scopes=["offers:read"])
    code = code_for(user, client, scope="offers:read")
    shown = start(api)
    before, used = row_of(shown).refreshed_at, ApiKey.objects.get(owner=user).last_used_at
    assert wait(seconds=61)["oauth_grants"] == 1
    assert row_of(shown).refreshed_at == before - timedelta(seconds=61)
    api.read(f"/kyc/status/{shown['verification_id']}")
    assert row_of(shown).refreshed_at > before
    assert ApiKey.objects.get(owner=user).last_used_at > used
    assert not Grant.objects.exists()
    assert exchange(code, client, secret).status_code == 400


def test_advancing_the_clock_by_7_days_expires_a_lender_invitation(wait, api, user):
    ProviderFactory(id="700", owner=user)
    assert api.send("/providers/700/members", {"username": "nobody"}).status_code == 202
    wait(days=6)
    assert len(api.read("/providers/700/members").json()["invitations"]) == 1
    wait(days=1)
    assert api.read("/providers/700/members").json()["invitations"] == []


def test_clock_advance_preserves_idempotency_keys_and_makes_pending_anchors_due_earlier(wait, api, user, key, settings):
    settings.ANCHOR_DECISIONS = True
    application = ApplicationFactory(consumer=user, status="under_review")
    application.transition_to("approved", actor=Actor(user=user, credential="jwt"), now=timezone.now())
    anchor = DecisionAnchor.objects.get()
    paid = process(api, user, key=key)
    wait(days=10)
    moved = DecisionAnchor.objects.get()
    assert anchor.due_at - moved.due_at == timedelta(days=10)
    assert moved.record == anchor.record
    assert process(api, user, key=key).json() == paid.json()
    assert IdempotencyRecord.objects.filter(owner=user).count() == 1


def test_advancing_the_clock_can_confirm_or_complete_or_fail_payments(wait, api, user):
    order = {"user_id": str(user.pk), "wallet_id": str(connected(user).pk), "to_address": OTHER_ADDRESS}
    payment = api.send("/payments/crypto/initiate", {**order, "amount_usdc": 5}).json()["payment_id"]
    api.send("/payments/crypto/confirm", {"payment_id": payment, "signed_transaction": "0x00"})
    assert process(api, user, payment_method_id="pm_sandbox_timeout").status_code == 502
    Payment.objects.update(due_at=timezone.now() + timedelta(minutes=4))
    done = wait(minutes=3)
    assert (done["crypto_payments_confirmed"], done["payments_completed"]) == (1, 0)
    assert wait(minutes=1)["payments_completed"] == 1
    assert Payment.objects.get().status == "Completed"
    assert process(api, user, key=True, payment_method_id="pm_sandbox_error").status_code == 502
    assert wait(hours=21)["payments_failed"] == 1
    assert Payment.objects.get(status="Failed").failure == "not_charged"


def test_decision_export_contains_terms_of_the_newest_approval_after_a_clock_advance(wait, user, settings):
    settings.REVIEW_POLICY = "reviewed"
    offer = listed()
    application, lender = applied(offer, consumer=user), lender_of(offer)

    def decide(status, **metadata):
        answer = move(lender, application, status, reason="Checked", metadata=metadata)
        assert answer.status_code == 200, answer.content

    def exported():
        answer = lender.read("/providers/700/decisions", accept="application/jsonl")
        return [json.loads(line)["terms"] for line in b"".join(answer.streaming_content).splitlines()]

    decide("approved", terms={**SAID, "rate_percent": 9.5})
    decide("under_review")
    assert exported() == [None]
    decide("approved", terms={**SAID, "amount_cents": 200_000, "rate_percent": 9.5})
    before = exported()
    assert before[0] is None
    assert before[1]["amount_cents"] == 200_000
    wait(days=5)
    assert exported() == before


def test_advancing_the_clock_does_not_change_the_times_of_history_entries(wait, api, user):
    shown = start(api)
    api.send(f"/sandbox/verifications/{shown['verification_id']}/outcome", {"outcome": "verified"})
    feed = api.read("/webhooks/events").json()["events"]
    history = list(row_of(shown).history.values_list("status", "changed_at"))
    wait(days=100)
    assert api.read("/webhooks/events").json()["events"] == feed
    assert list(row_of(shown).history.values_list("status", "changed_at")) == history
    assert RefreshToken.objects.count() == 0
