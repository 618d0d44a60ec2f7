"""POST /v1/sandbox/clock: what would happen after waiting happens now."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone
from oauth2_provider.models import Grant

from config.api.models import IdempotencyRecord
from config.core.lifecycle import Actor
from config.core.registration import declared
from config.sandbox import clock
from config.sandbox.views import ClockDone
from config.webhooks import endpoints
from config.webhooks.models import Delivery, Endpoint, Event
from config.webhooks.queue import failed_deliveries, take_due
from credit.models import Application, ApplicationHistory, DecisionAnchor
from credit.scoring.known_facts import account_age_days, is_verified, verified_days_ago
from identity.access import tokens
from identity.kyc.models import KycVerification
from identity.models import ApiKey, RefreshToken, TokenFamily
from payments.cards.models import Payment
from staging.models import StagedItem
from tests.api import ApiClient, assert_error, bearer_of
from tests.factories import ApplicationFactory, ClaimFactory, ProviderFactory, StagedItemFactory
from tests.identity.banking import events_of, row_of, start
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.identity.support import issue
from tests.payments.card_support import process
from tests.payments.wallet_support import OTHER_ADDRESS, connected
from tests.sandbox.conftest import seconds_of
from tests.webhooks.conftest import PUBLIC_URL

pytestmark = pytest.mark.django_db
PATH = "/sandbox/clock"


def stored(record):
    """Return every column of a record as it is stored."""
    return type(record)._default_manager.filter(pk=record.pk).values().get()


# --- The operation -------------------------------------------------------------------------------------------------


def test_the_clock_returns_the_counts_of_its_work(wait):
    assert wait(days=1) == dict.fromkeys(ClockDone().fields, 0)


def test_another_accounts_clock_stands_still(wait, stranger):
    theirs = [ApplicationFactory(consumer=stranger), StagedItemFactory(user=stranger), ClaimFactory(user=stranger)]
    bearer_of(stranger)
    soon = timezone.now() + timedelta(days=40)
    theirs += [issue(stranger, expires_at=soon).record, RefreshToken.objects.get(family__user=stranger)]
    before = [stored(record) for record in theirs]
    wait(days=31)
    assert [stored(record) for record in theirs] == before
    assert not Event.objects.filter(account=stranger, type="api_key.expiring").exists()


def test_every_count_of_the_workers_is_documented_or_excluded(db):
    told, counted = set(ClockDone().fields), set(clock.run_workers(now=timezone.now()))
    assert told <= counted
    of_nobody = {rule.name for rule in declared("prune_rules")} - told
    assert counted - told - of_nobody == {
        "abandoned_document_files", "draft_document_files", "notices", "recovery_codes_hashed", "review_statements",
    }  # fmt: skip


def test_a_clock_that_was_moved_for_decades_is_moved_no_further(api, user):
    type(user).objects.filter(pk=user.pk).update(date_joined=timezone.now() - timedelta(days=365 * 56))
    body = assert_error(api.send(PATH, {"advance_seconds": seconds_of(days=400)}), 400, "E1001")
    assert "new account" in body["message"]


# --- What waits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["draft", "pending_documents", "approved"])
def test_idle_applications_expire(wait, user, status):
    application = ApplicationFactory(consumer=user, status=status)
    assert wait(days=29)["applications_expired"] == 0
    assert wait(days=1)["applications_expired"] == 1
    application.refresh_from_db()
    assert application.status == "expired"
    assert [kind for kind, _ in events_of(user, "application.")] == ["application.expired"]
    move = ApplicationHistory.objects.get(application=application)
    assert abs(timezone.now() - move.changed_at) < timedelta(hours=1)


def test_accepted_and_waiting_applications_do_not_expire(wait, user):
    now = timezone.now()
    kept = [
        ApplicationFactory(consumer=user, status="approved", accepted_at=now),
        ApplicationFactory(consumer=user, status="submitted", submitted_at=now),
    ]
    assert wait(days=61)["applications_expired"] == 0
    for application in kept:
        after = stored(application)
        assert after["status"] == application.status
        assert after["created_at"] == application.created_at
    assert Application.objects.get(pk=kept[1].pk).submitted_at == now - timedelta(days=61)


def short_key(user):
    """Make a key of twenty days."""
    return issue(user, expires_at=timezone.now() + timedelta(days=20))


def test_a_key_is_announced_before_it_ends(wait, user):
    issued = short_key(user)
    wait(days=5)
    assert ApiClient(api_key=issued.key).read("/auth/me").headers.get("X-Key-Expires") is None
    assert wait(days=2)["api_keys_announced"] == 1
    assert ApiClient(api_key=issued.key).read("/auth/me").headers["X-Key-Expires"]
    wait(days=14)
    assert_error(ApiClient(api_key=issued.key).read("/auth/me"), 401, "E2009")


def test_a_key_is_announced_also_when_its_days_go_by_at_once(wait, user):
    issued = short_key(user)
    own = ApiClient(api_key=issued.key)
    assert wait(own, days=21)["api_keys_announced"] == 1
    (told,) = events_of(user, "api_key.expiring")
    assert told[1]["api_key_id"] == issued.record.pk
    assert_error(own.read("/auth/me"), 401, "E2009")  # the key that calls may end with the call


def test_a_key_that_was_just_used_notes_its_use_again(wait, api, user):
    used = ApiKey.objects.get(owner=user).last_used_at
    wait(minutes=2)
    api.read("/auth/me")
    assert ApiKey.objects.get(owner=user).last_used_at > (used or timezone.now() - timedelta(minutes=1))


def test_a_log_in_ends_with_its_refresh_token(wait, user):
    pair = tokens.start_family(user=user, now=timezone.now())
    token = ApiClient(bearer=pair.access_token)
    wait(days=29)
    assert token.read("/auth/me").status_code == 200
    done = wait(days=1)
    assert (done["refresh_tokens"], done["token_families"]) == (1, 1)
    assert_error(ApiClient().send("/auth/refresh", {"refresh_token": pair.refresh_token}), 401, "E2002")
    assert_error(token.read("/auth/me"), 401, "E2003")


def test_the_session_that_moved_the_clock_must_log_in_again(user):
    by_log_in = ApiClient(bearer=tokens.start_family(user=user, now=timezone.now()).access_token)
    assert by_log_in.send(PATH, {"advance_seconds": seconds_of(days=29)}).status_code == 200
    assert by_log_in.read("/auth/me").status_code == 200
    assert by_log_in.send(PATH, {"advance_seconds": seconds_of(days=1)}).status_code == 200
    assert "Log in again" in assert_error(by_log_in.read("/auth/me"), 401, "E2003")["message"]


def test_a_refresh_token_is_good_as_long_as_it_would_be(wait, user):
    pair = tokens.start_family(user=user, now=timezone.now())
    wait(days=29)
    assert ApiClient().send("/auth/refresh", {"refresh_token": pair.refresh_token}).status_code == 200


def test_sessions_ended_by_a_new_password_stay_ended(wait, user):
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


def test_an_authorization_code_ends(wait, user):
    client, secret = make_client(scopes=["offers:read"])
    code = code_for(user, client, scope="offers:read")
    assert wait(seconds=61)["oauth_grants"] == 1
    assert not Grant.objects.exists()
    assert exchange(code, client, secret).status_code == 400


def test_an_unfinished_verification_expires(wait, api, user):
    shown = start(api)
    assert wait(hours=23)["verifications_expired"] == 0
    assert wait(hours=1)["verifications_expired"] == 1
    assert row_of(shown).status == "expired"


def test_a_fourth_verification_can_be_started_after_thirty_days(wait, api, plaid, settings):
    settings.PLAID_TEMPLATE_ID = "idvtmp_1"
    for _ in range(3):
        plaid.settle(row_of(start(api)).provider_reference, "failed")
    assert_error(api.send("/kyc/create", {}), 400, "E3006")
    wait(days=29)
    assert_error(api.send("/kyc/create", {}), 400, "E3006")
    wait(days=1)
    assert start(api)["status"] == "requires_input"
    assert list(KycVerification.objects.order_by("attempt").values_list("attempt", flat=True)) == [1, 2, 3, 4]


def test_a_verification_grows_old(wait, api, user):
    verification_id = start(api)["verification_id"]
    api.send(f"/sandbox/verifications/{verification_id}/outcome", {"outcome": "verified"})
    wait(days=40)
    now = timezone.now()
    assert (is_verified(user.pk, now), verified_days_ago(user.pk, now)) == (True, 40)
    assert account_age_days(user.pk, now) == 40


def test_the_clock_lets_a_provider_be_called_again(wait, api):
    shown = start(api)
    before = row_of(shown).refreshed_at
    wait(seconds=11)
    assert row_of(shown).refreshed_at == before - timedelta(seconds=11)
    api.read(f"/kyc/status/{shown['verification_id']}")
    assert row_of(shown).refreshed_at > before


def test_staged_items_expire(wait, user):
    item = StagedItemFactory(user=user)
    assert wait(days=29)["staged_items_expired"] == 0
    assert wait(days=1)["staged_items_expired"] == 1
    assert StagedItem.objects.get(pk=item.pk).status == "expired"


def test_a_claim_waits_longer(wait, user):
    claim = ClaimFactory(user=user, status="pending")
    wait(days=3)
    assert claim.updated_at - stored(claim)["updated_at"] == timedelta(days=3)


def test_an_invitation_of_ones_provider_ends_after_seven_days(wait, api, user):
    ProviderFactory(id="700", owner=user)
    assert api.send("/providers/700/members", {"username": "nobody"}).status_code == 202
    wait(days=6)
    assert len(api.read("/providers/700/members").json()["invitations"]) == 1
    wait(days=1)
    assert api.read("/providers/700/members").json()["invitations"] == []


def test_a_stored_answer_is_forgotten_after_72_hours(wait, api, user):
    body = {"user_id": str(user.pk), "publication_id": "10.1000/182", "claim_type": "author"}
    key = str(uuid.uuid4())
    first = api.send("/claims", body, key=key)
    wait(hours=71)
    assert api.send("/claims", body, key=key).json() == first.json()
    assert wait(hours=2)["idempotency_records"] == 1
    again = api.send("/claims", body, key=key)
    assert (again.status_code, again.headers.get("Idempotent-Replayed")) == (201, None)
    assert again.json()["id"] != first.json()["id"]


def test_the_key_of_a_payment_is_never_free(wait, api, user, key):
    paid = process(api, user, key=key)
    wait(days=10)
    assert process(api, user, key=key).json() == paid.json()
    assert IdempotencyRecord.objects.filter(owner=user).count() == 1


def test_an_unsigned_crypto_payment_expires(wait, api, user):
    order = {"user_id": str(user.pk), "wallet_id": str(connected(user).pk), "to_address": OTHER_ADDRESS}
    payment = api.send("/payments/crypto/initiate", {**order, "amount_usdc": 5}).json()["payment_id"]
    assert wait(minutes=14)["crypto_payments_expired"] == 0
    assert wait(minutes=1)["crypto_payments_expired"] == 1
    assert events_of(user, "payment.crypto.expired")[0][1]["payment_id"] == payment
    signed = {"payment_id": payment, "signed_transaction": "0x00"}
    assert_error(api.send("/payments/crypto/confirm", signed), 400, "E3008")


def test_a_submitted_payment_is_confirmed(wait, api, user):
    order = {"user_id": str(user.pk), "wallet_id": str(connected(user).pk), "to_address": OTHER_ADDRESS}
    payment = api.send("/payments/crypto/initiate", {**order, "amount_usdc": 5}).json()["payment_id"]
    api.send("/payments/crypto/confirm", {"payment_id": payment, "signed_transaction": "0x00"})
    assert wait(seconds=1)["crypto_payments_confirmed"] == 1


def test_an_unknown_card_payment_is_looked_at_again(wait, api, user):
    assert process(api, user, payment_method_id="pm_sandbox_timeout").status_code == 502
    Payment.objects.update(due_at=timezone.now() + timedelta(minutes=4))
    assert wait(minutes=3)["payments_completed"] == 0
    assert wait(minutes=1)["payments_completed"] == 1
    assert Payment.objects.get().status == "Completed"


def test_a_card_payment_is_not_charged_a_day_later(wait, api, user):
    assert process(api, user, payment_method_id="pm_sandbox_error").status_code == 502
    assert wait(hours=21)["payments_failed"] == 1
    assert Payment.objects.get().failure == "not_charged"


@pytest.fixture
def endpoint(user):
    return endpoints.create_endpoint(
        account_id=user.pk, url=PUBLIC_URL, event_types=["*"], description="", now=timezone.now()
    )


def test_the_previous_secret_of_an_endpoint_ends(wait, endpoint):
    endpoints.rotate_secret(endpoint.pk, grace=timedelta(days=2), now=timezone.now())
    wait(hours=47)
    assert len(Endpoint.objects.get().live_secrets(timezone.now())) == 2
    wait(hours=1)
    assert len(Endpoint.objects.get().live_secrets(timezone.now())) == 1


def test_a_delivery_that_failed_is_tried_again(wait, api, endpoint):
    start(api)
    api.read("/webhooks/events")
    Delivery.objects.update(due_at=timezone.now() + timedelta(hours=5))
    lease = timedelta(seconds=60)
    items = failed_deliveries(lease=lease)

    def take():
        return take_due(items, items.queue, limit=10, now=timezone.now(), lease=lease)

    wait(hours=4)
    assert take() == []
    wait(hours=1)
    assert len(take()) == Delivery.objects.count() == 1


def test_an_endpoint_has_been_failing_for_longer(wait, endpoint):
    since = timezone.now()
    Endpoint.objects.update(failing_since=since)
    wait(days=5)
    assert Endpoint.objects.get().failing_since == since - timedelta(days=5)


def test_deliveries_that_are_over_are_forgotten(wait, api, endpoint):
    start(api)
    api.read("/webhooks/events")
    Delivery.objects.update(status="delivered", due_at=None)
    assert wait(days=29)["webhook_deliveries"] == 0
    assert wait(days=2)["webhook_deliveries"] == 1


def test_waiting_anchors_are_retried(wait, api, user, settings):
    settings.ANCHOR_DECISIONS = True
    application = ApplicationFactory(consumer=user, status="under_review")
    now = timezone.now()
    application.transition_to("approved", actor=Actor(user=user, credential="jwt"), now=now)
    anchor = DecisionAnchor.objects.get()
    wait(minutes=5)
    moved = DecisionAnchor.objects.get()
    assert anchor.due_at - moved.due_at == timedelta(minutes=5)
    assert moved.record == anchor.record


def test_histories_keep_their_times(wait, api, user):
    shown = start(api)
    api.send(f"/sandbox/verifications/{shown['verification_id']}/outcome", {"outcome": "verified"})
    feed = api.read("/webhooks/events").json()["events"]
    history = list(row_of(shown).history.values_list("status", "changed_at"))
    wait(days=400)
    assert api.read("/webhooks/events").json()["events"] == feed
    assert list(row_of(shown).history.values_list("status", "changed_at")) == history
    assert RefreshToken.objects.count() == 0
