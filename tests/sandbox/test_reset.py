"""POST /v1/sandbox/reset: the account as if it were new, and nothing else touched."""

import json
import uuid
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from config.api.models import IdempotencyRecord
from config.core.lifecycle import Actor
from config.webhooks.models import Delivery, Endpoint, Event, EventFeed
from config.webhooks.publishing import publish_account
from credit.models import Application, ApplicationHistory, DecisionAnchor
from credit.scoring.known_facts import account_age_days, has_linked_bank, is_verified
from identity.kyc.models import KycVerification, KycVerificationHistory
from identity.models import User
from identity.providers.models import SandboxItem, SandboxVerification
from payments.cards.models import Payment, PaymentAttempt
from payments.crypto.models import CryptoPayment, CryptoPaymentHistory, CryptoTransaction
from payments.crypto.settlement import settle_crypto
from payments.wallets.models import CustodyAccount, Wallet
from staging.models import Approval
from tests.api import ApiClient, assert_error, bearer_of
from tests.factories import ApplicationFactory
from tests.identity.banking import page_of
from tests.identity.test_bankdata_exchange import exchange
from tests.payments.card_support import process
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS
from tests.sandbox.conftest import key_of, seconds_of
from tests.webhooks.conftest import PUBLIC_URL

pytestmark = pytest.mark.django_db
PATH = "/sandbox/reset"
HISTORIES = (ApplicationHistory, KycVerificationHistory, PaymentAttempt, CryptoPaymentHistory, Approval)
KEYS = [str(uuid.uuid4()) for _ in range(20)]


@pytest.fixture(autouse=True)
def _kept_methods(settings):
    settings.PAYMENT_METHODS = "persistent"


def ok(answer):
    assert answer.status_code < 300, answer.content
    return answer.json() if answer.content else None


def live(api, user):
    """Do something of everything that an account can do, with the same keys whoever does it."""
    me, keys = str(user.pk), iter(KEYS)
    ok(api.send("/webhooks/endpoints", {"url": PUBLIC_URL, "event_types": ["*"]}))
    body = {"consumer_id": me, "offer_id": 1, "provider_id": 700, "application_data": {"amount_cents": 5}}
    application = ok(api.send("/applications", body, key=next(keys)))["id"]
    for status in ("submitted", "under_review", "approved"):
        moved = {"status": status, "updated_by": me}
        ok(api.replace(f"/applications/{application}/status", moved, key=next(keys)))
    claim = {"user_id": me, "publication_id": "10.1000/182", "claim_type": "author", "visibility": "shared"}
    ok(api.send("/claims", claim, key=next(keys)))
    for _ in range(2):
        item = ok(api.send("/staging/items", {"kind": "note", "payload": {"text": "x"}}))["id"]
    ok(api.send(f"/staging/approve/{item}", {"user_id": me}, key=next(keys)))
    for _ in range(3):
        verification = ok(api.send("/kyc/create", {}, key=next(keys)))
    ok(api.send(f"/sandbox/verifications/{verification['verification_id']}/outcome", {"outcome": "verified"}))
    assert exchange(api, user, f"public-sandbox-{user.pk}").status_code == 200
    ok(api.send("/payments/add", {"user_id": user.pk, "processor_type": "card", "account_id": "acct_1"}))
    ok(process(api, user, key=next(keys)))
    ok(api.send("/wallet/connect/circle", {"label": "savings"}, key=next(keys)))
    wallet = ok(api.send("/wallet/connect/walletconnect", {"address": ADDRESS}))["id"]
    order = {"user_id": me, "wallet_id": wallet, "to_address": OTHER_ADDRESS, "amount_usdc": 5}
    paid, _unsigned = (ok(api.send("/payments/crypto/initiate", order, key=next(keys))) for _ in range(2))
    signed = {"payment_id": paid["payment_id"], "signed_transaction": "0x00"}
    ok(api.send("/payments/crypto/confirm", signed, key=next(keys)))
    settle_crypto(now=timezone.now())
    return verification


def lists_of(api, user):
    """Return how long each list of the account is."""
    me = user.pk
    read = {
        "events": api.read("/webhooks/events").json()["events"],  # which publishes what is to be delivered
        "applications": api.read(f"/applications?consumer_id={me}").json(),
        "claims": api.read(f"/claims?user_id={me}").json(),
        "shared claims": api.read("/claims?publication_id=10.1000/182").json(),
        "staged": api.read("/staging/items").json()["items"],
        "approved": api.read("/staging/items?status=approved").json()["items"],
        "methods": api.read(f"/user/{me}/payment-methods").json()["payment_methods"],
        "wallets": api.read(f"/wallet/list/{me}").json()["wallets"],
        "endpoints": api.read("/webhooks/endpoints").json()["endpoints"],
        "deliveries": api.read("/webhooks/deliveries").json()["deliveries"],
    }
    return {name: len(found) for name, found in read.items()}


def everything():
    """Return all rows of all histories, as they are stored."""
    return {model._meta.label: list(model.objects.order_by("pk").values()) for model in HISTORIES}


def test_every_list_is_empty_afterwards(api, user):
    live(api, user)
    assert 0 not in lists_of(api, user).values()
    answer = ok(api.send(PATH))
    assert answer["records"] > 20
    assert set(lists_of(api, user).values()) == {0}
    assert_error(api.read(f"/bankdata/accounts/{user.pk}"), 404, "E4008")
    now = timezone.now()
    assert (is_verified(user.pk, now), has_linked_bank(user.pk, now)) == (False, False)
    assert account_age_days(user.pk, now) == 0


def test_the_same_story_runs_again_with_the_same_keys(api, user):
    first = live(api, user)
    before = lists_of(api, user)
    ok(api.send(PATH))
    again = live(api, user)
    assert again["verification_id"] != first["verification_id"]
    assert lists_of(api, user) == before
    ok(api.send(PATH))
    live(api, user)


def test_nobody_can_log_in_to_the_account_that_keeps_the_records(api, user):
    live(api, user)
    keeper = User.objects.get(pk=ok(api.send(PATH))["kept_by"])
    assert (keeper.is_active, keeper.has_usable_password()) == (False, False)
    assert keeper.username.startswith(f"reset-of-{user.pk}-")
    assert Application.objects.get().consumer_id == keeper.pk
    assert_error(ApiClient(bearer=bearer_of(keeper)).read("/auth/me"), 401, "E2002")


def test_keys_and_log_ins_stay(api, user):
    bearer = ApiClient(bearer=bearer_of(user))
    ok(bearer.send(PATH))
    assert bearer.read("/auth/me").json() == api.read("/auth/me").json()


def test_another_account_is_not_touched(api, user, stranger, stranger_api):
    live(api, user)
    live(stranger_api, stranger)
    before, joined = lists_of(stranger_api, stranger), stranger.date_joined
    keys = IdempotencyRecord.objects.filter(owner=stranger).count()
    ok(api.send(PATH))
    after = lists_of(stranger_api, stranger)
    assert after == {**before, "shared claims": 1}
    assert IdempotencyRecord.objects.filter(owner=stranger).count() == keys > 5
    stranger.refresh_from_db()
    assert stranger.date_joined == joined
    assert is_verified(stranger.pk, timezone.now())


def test_histories_are_as_they_were(api, user):
    live(api, user)
    before = everything()
    assert all(before.values())
    ok(api.send(PATH))
    assert everything() == before


def test_verifications_are_counted_from_one_again(api, user):
    live(api, user)
    assert ok(api.send("/kyc/create", {}))["attempt"] > 1
    ok(api.send(PATH))
    assert ok(api.send("/kyc/create", {}))["attempt"] == 1
    assert list(KycVerification.objects.filter(user=user).values_list("attempt", flat=True)) == [1]


def test_the_page_of_a_verification_is_closed(api, user):
    shown = ok(api.send("/kyc/create", {}))
    ok(api.send(PATH))
    assert ApiClient().post(page_of(shown), {"outcome": "pass"}).status_code == 404
    assert KycVerification.objects.get().status == "requires_input"
    assert not SandboxVerification.objects.exists()


def test_the_same_public_token_links_the_same_bank_again(api, user):
    linked = exchange(api, user).json()["item_id"]
    assert exchange(api, user).status_code == 400
    ok(api.send(PATH))
    assert exchange(api, user).json()["item_id"] == linked
    assert SandboxItem.objects.count() == 1


def test_both_feeds_count_from_one_without_a_gap(api, user):
    live(api, user)
    api.read("/webhooks/events")
    last = EventFeed.objects.get(pk=user.pk).last_sequence
    Event.objects.create(account=user, type="webhook.test", object={"endpoint_id": "x"}, created_at=timezone.now())
    keeper = ok(api.send(PATH))["kept_by"]
    ok(api.send("/kyc/create", {}))
    assert [one["sequence"] for one in api.read("/webhooks/events").json()["events"]] == [1]
    publish_account(int(keeper), now=timezone.now())
    numbers = Event.objects.filter(account_id=keeper).order_by("sequence").values_list("sequence", flat=True)
    assert list(numbers) == list(range(1, last + 2))
    assert EventFeed.objects.get(pk=keeper).last_sequence == last + 1


def test_nothing_is_sent_to_the_endpoints_that_were(api, user):
    live(api, user)
    api.read("/webhooks/events")
    keeper = ok(api.send(PATH))["kept_by"]
    ok(api.send("/kyc/create", {}))
    api.read("/webhooks/events")
    assert not Delivery.objects.filter(account=user).exists()
    (endpoint,) = Endpoint.objects.filter(account_id=keeper)
    assert (endpoint.secret, endpoint.deleted_at is None) == ("", False)
    assert not Endpoint.objects.enabled().exists()


def test_what_a_custody_account_holds_is_found_again(api, user):
    address = ok(api.send("/wallet/connect/circle", {"label": "savings"}))["address"]
    ok(api.send(PATH))
    assert ok(api.send("/wallet/connect/circle", {"label": "savings"}))["address"] == address
    assert (CustodyAccount.objects.count(), Wallet.objects.count()) == (1, 2)


def test_a_decision_is_anchored_for_whom_it_is_about(api, user, settings):
    settings.ANCHOR_DECISIONS = True
    application = ApplicationFactory(consumer=user, status="under_review")
    with transaction.atomic():
        application.transition_to("approved", actor=Actor(user=user, credential="jwt"), now=timezone.now())
    ok(api.send(PATH))
    anchor = DecisionAnchor.objects.get()
    assert anchor.application.consumer_id != user.pk
    assert json.loads(anchor.record)["consumer_id"] == anchor.subject_id == str(user.pk)


# --- Money on its way ----------------------------------------------------------------------------------------------


def untouched(api, user, before):
    """Say whether a refused reset has changed nothing."""
    return lists_of(api, user) == before and not User.objects.filter(is_active=False).exists()


@pytest.mark.parametrize("status", ["Pending", "Processing", "Unknown"])
def test_a_card_payment_on_its_way_is_waited_for(api, user, status):
    live(api, user)
    before = lists_of(api, user)
    Payment.objects.update(status=status, due_at=timezone.now() + timedelta(minutes=1))
    assert "card payment" in assert_error(api.send(PATH), 400, "E1001")["message"]
    assert untouched(api, user, before)
    Payment.objects.update(status="Completed")
    ok(api.send(PATH))


@pytest.mark.parametrize("status", ["broadcasting", "submitted"])
def test_a_signed_crypto_payment_on_its_way_is_waited_for(api, user, status):
    live(api, user)
    before = lists_of(api, user)
    payment = CryptoPayment.objects.get(status="awaiting_signature").pk
    CryptoPayment.objects.filter(pk=payment).update(status=status, tx_hash="0x" + "ab" * 32)
    assert "crypto payment" in assert_error(api.send(PATH), 400, "E1001")["message"]
    assert untouched(api, user, before)
    CryptoPayment.objects.filter(pk=payment).update(status="confirmed")
    ok(api.send(PATH))


def test_a_transaction_that_was_declined_once_is_waited_for(api, user):
    live(api, user)
    payment = CryptoPayment.objects.get(status="awaiting_signature")
    CryptoTransaction.objects.create(
        payment=payment, tx_hash="0x" + "cd" * 32, nonce=1, raw="0x00", given_at=timezone.now()
    )
    assert_error(api.send(PATH), 400, "E1001")


# --- Who may -------------------------------------------------------------------------------------------------------


def test_the_next_start_gives_the_demo_a_key_again_and_leaves_it_empty(settings, tmp_path, bookless):
    settings.VAR_DIR = tmp_path
    call_command("seed_demo", stdout=StringIO())
    demo = User.objects.get(username="demo")
    api = key_of(demo)
    ok(api.send("/sandbox/clock", {"advance_seconds": seconds_of(days=91)}))
    ok(api.send(PATH))
    call_command("seed_demo", stdout=StringIO())
    assert not is_verified(demo.pk, timezone.now())
    shown = json.loads((tmp_path / "demo.json").read_text())
    assert ApiClient(api_key=shown["api_key"]).read("/auth/me").status_code == 200


def test_an_account_without_records_can_be_reset(stranger):
    assert ok(key_of(stranger).send(PATH))["records"] >= 0
