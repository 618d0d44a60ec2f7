"""The worker: following what was submitted to its end, and letting go of what nobody signed."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from payments.crypto import settlement as crypto
from payments.crypto.models import CryptoPayment
from tests.payments.crypto_support import confirm, initiate, stored
from tests.payments.wallet_support import connected, events


def settle(*, minutes=0):
    """Let the worker run, as if `minutes` had passed."""
    return crypto.settle_crypto(now=timezone.now() + timedelta(minutes=minutes))


NOTHING = {"confirmed": 0, "failed": 0, "waiting": 0, "resumed": 0, "expired": 0, "unreachable": 0, "errors": 0}


def test_without_payments_there_is_nothing_to_do(db):
    assert settle() == NOTHING


def test_a_simulated_payment_is_confirmed_and_says_that_it_is_simulated(api, user):
    payment_id = initiate(api, user, connected(user)).json()["payment_id"]
    confirm(api, payment_id, "0x12")
    assert settle() == {**NOTHING, "confirmed": 1}
    assert stored(payment_id).status == "confirmed"
    (event,) = events(user, "payment.crypto.confirmed")
    assert event["simulated"] is True
    assert settle() == NOTHING


def test_simulated_payments_expire_too(api, user):
    initiate(api, user, connected(user))
    assert settle(minutes=16) == {**NOTHING, "expired": 1}


def test_every_overdue_payment_expires(api, user):
    wallet = connected(user)
    for _ in range(8):
        initiate(api, user, wallet)
    assert settle(minutes=16) == {**NOTHING, "expired": 8}
    assert len(events(user, "payment.crypto.expired")) == 8


def test_a_move_that_the_machine_lacks_is_a_fault(api, user):
    payment = stored(initiate(api, user, connected(user)).json()["payment_id"])
    with pytest.raises(ValueError, match="does not move"), transaction.atomic():
        payment.transition_to("confirmed", actor=crypto.Actor.system("x"), now=timezone.now())


@pytest.mark.parametrize(
    "columns", [{"status": "paid"}, {"amount_usdc": -1}, {"status": "submitted"}, {"status": "broadcasting"}]
)
def test_the_database_itself_refuses_what_cannot_be(api, user, columns):
    payment_id = initiate(api, user, connected(user)).json()["payment_id"]
    with pytest.raises(DatabaseError), transaction.atomic():
        CryptoPayment.objects.filter(pk=payment_id).update(**columns)
