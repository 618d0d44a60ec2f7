"""Test histories and log-ins after the clock of the servers was set back."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.models import ApplicationHistory
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


def test_log_in_is_valid_after_a_password_change_dated_in_the_future(db, now):
    user = UserFactory(credentials_changed_at=now + AHEAD)
    tokens.start_family(user=user, now=now)
    assert tokens.family_is_live(TokenFamily.objects.get(user=user))


def test_new_password_revokes_log_ins_dated_in_the_future(user, now):
    tokens.start_family(user=user, now=now + AHEAD)
    user.set_password("a new password")
    user.save(update_fields=["password", "credentials_changed_at"])
    assert not tokens.family_is_live(TokenFamily.objects.select_related("user").get(user=user))


def test_application_history_stays_in_order_after_the_clock_is_set_back(api, user, now):
    application = ApplicationFactory(consumer=user, status="draft", updated_at=now + AHEAD)
    for status in ("submitted", "under_review", "approved"):
        moved = api.replace(f"/applications/{application.pk}/status", {"status": status, "updated_by": "me"})
        assert moved.status_code == 200
    rows = list(ApplicationHistory.objects.filter(application=application).order_by("position"))
    moments = [row.changed_at for row in rows]
    assert [row.status for row in rows] == ["submitted", "under_review", "approved"]
    assert moments == sorted(moments)
    assert moments[0] >= now + AHEAD


@pytest.mark.parametrize("path", ["applications", "claims"])
def test_application_update_between_transitions_preserves_the_history_order(api, user, now, path):
    changes = {
        "applications": (ApplicationFactory, ["submitted", "under_review"], {"application_data": {"amount": 2}}),
        "claims": (ClaimFactory, ["pending", "draft"], {"notes": "another"}),
    }
    factory, statuses, changed = changes[path]
    owner = "consumer" if path == "applications" else "user"
    record = factory(**{owner: user}, status="draft", updated_at=now + AHEAD)
    for status in statuses:
        moved = api.replace(f"/{path}/{record.pk}/status", {"status": status, "updated_by": "me"})
        assert moved.status_code == 200
        assert api.replace(f"/{path}/{record.pk}", {"updated_by": "me", **changed}).status_code == 200
    moments = [row.changed_at for row in record.history.order_by("position")]
    assert len(moments) == 2
    assert now + AHEAD <= moments[0] <= moments[1]


def test_verification_history_stays_in_order_after_the_clock_is_set_back(api, now):
    verification = row_of(start(api))
    KycVerification.objects.update(updated_at=now + AHEAD)
    passed = VerificationState(
        reference=verification.provider_reference, progress=Progress.PASSED, status="success", steps={}, hosted_url=None
    )
    moved = apply_state(verification, passed, now=now)
    assert [row.status for row in moved.history.order_by("position")] == ["processing", "verified"]
    assert [row.changed_at for row in moved.history.all()] == [now + AHEAD] * 2
    assert moved.completed_at == now + AHEAD


def test_crypto_payment_history_stays_in_order_after_the_clock_is_set_back(user, now):
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
