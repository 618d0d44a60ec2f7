"""Test histories and log-ins after the clock of the servers was set back."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.core.lifecycle import Actor
from identity.access import tokens
from identity.kyc.models import KycVerification
from identity.kyc.services import apply_state
from identity.models import TokenFamily
from identity.providers.base import Progress, VerificationState
from payments.crypto.broadcast import prepare_payment, store_payment
from payments.crypto.network import mark_submitted, move_payment
from tests.factories import ApplicationFactory, ClaimFactory, UserFactory
from tests.identity.banking import row_of, start
from tests.payments.wallet_support import NETWORK, OTHER_ADDRESS, connected

AHEAD = timedelta(hours=2)


@pytest.fixture
def now():
    """Return the time after the clock was set back."""
    return timezone.now()


def test_password_changes_and_log_ins_dated_in_the_future_remain_effective(user, now):
    changed = UserFactory(credentials_changed_at=now + AHEAD)
    tokens.start_family(user=changed, now=now)
    assert tokens.family_is_live(TokenFamily.objects.get(user=changed))
    tokens.start_family(user=user, now=now + AHEAD)
    user.set_password("a new password")
    user.save(update_fields=["password", "credentials_changed_at"])
    assert not tokens.family_is_live(TokenFamily.objects.select_related("user").get(user=user))


@pytest.mark.parametrize(
    ("path", "factory", "owner", "statuses", "changes"),
    [
        ("applications", ApplicationFactory, "consumer", ["submitted", "under_review"], {"application_data": {"a": 2}}),
        ("claims", ClaimFactory, "user", ["pending", "draft"], {"notes": "another"}),
    ],
)
def test_application_and_claim_histories_remain_in_order_after_the_clock_is_set_back(
    api, user, now, path, factory, owner, statuses, changes
):
    record = factory(**{owner: user}, status="draft", updated_at=now + AHEAD)
    for status in statuses:
        moved = api.replace(f"/{path}/{record.pk}/status", {"status": status, "updated_by": "me"})
        assert moved.status_code == 200
        assert api.replace(f"/{path}/{record.pk}", {"updated_by": "me", **changes}).status_code == 200
    rows = list(record.history.order_by("position"))
    assert [row.status for row in rows] == statuses
    assert now + AHEAD <= rows[0].changed_at <= rows[1].changed_at


def test_identity_verification_history_remains_in_order_after_the_clock_is_set_back(api, now):
    verification = row_of(start(api))
    KycVerification.objects.update(updated_at=now + AHEAD)
    passed = VerificationState(
        reference=verification.provider_reference, progress=Progress.PASSED, status="success", steps={}, hosted_url=None
    )
    moved = apply_state(verification, passed, now=now)
    assert [row.status for row in moved.history.order_by("position")] == ["processing", "verified"]
    assert [row.changed_at for row in moved.history.all()] == [now + AHEAD] * 2
    assert moved.completed_at == now + AHEAD


def test_crypto_payment_history_remains_in_order_after_the_clock_is_set_back(user, now):
    payment = prepare_payment(
        owner=user, wallet_id=str(connected(user).pk), to_address=OTHER_ADDRESS, amount_usdc=5, description=None,
        network=NETWORK, now=now + AHEAD,
    )  # fmt: skip
    store_payment(payment)
    actor = Actor(user=user, credential="jwt")
    move_payment(payment, "broadcasting", actor=actor, now=now + AHEAD, tx_hash="0x" + "ab" * 32)
    mark_submitted(payment, "0x" + "ab" * 32, actor=actor, now=now)
    assert [row.changed_at for row in payment.history.all()] == [now + AHEAD] * 2
    assert payment.submitted_at == now + AHEAD
