"""Test crypto payments after submission: the worker, random steps, and the chain settings."""

from contextlib import nullcontext
from datetime import timedelta
from itertools import product

import hypothesis.strategies as st
import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone
from hypothesis import given

from config.core.lifecycle import Actor
from payments.chain.addresses import NETWORK_ALIASES, parse_network
from payments.crypto import settlement as crypto
from payments.crypto.broadcast import prepare_payment, store_payment
from payments.crypto.models import CryptoPayment
from tests.factories import UserFactory
from tests.payments.crypto_support import confirm, initiate, stored
from tests.payments.wallet_support import NETWORK, OTHER_ADDRESS, connected, events
from tests.properties import examples
from tests.walks import walk


def settle(*, minutes=0):
    """Run the worker with the clock advanced by `minutes`."""
    return crypto.settle_crypto(now=timezone.now() + timedelta(minutes=minutes))


NOTHING = {"confirmed": 0, "failed": 0, "waiting": 0, "resumed": 0, "expired": 0, "unreachable": 0, "errors": 0}


def test_simulated_crypto_payment_is_confirmed_and_marked_as_simulated(api, user):
    payment_id = initiate(api, user, connected(user)).json()["payment_id"]
    confirm(api, payment_id, "0x12")
    assert settle() == {**NOTHING, "confirmed": 1}
    assert stored(payment_id).status == "confirmed"
    (event,) = events(user, "payment.crypto.confirmed")
    assert event["simulated"] is True
    assert settle() == NOTHING


def test_every_overdue_crypto_payment_expires(api, user):
    wallet = connected(user)
    for _ in range(8):
        initiate(api, user, wallet)
    assert settle(minutes=16) == {**NOTHING, "expired": 8}
    assert len(events(user, "payment.crypto.expired")) == 8


def test_database_rejects_inconsistent_columns_of_a_crypto_payment(api, user):
    payment_id = initiate(api, user, connected(user)).json()["payment_id"]
    for columns in ({"status": "paid"}, {"amount_usdc": -1}, {"status": "submitted"}, {"status": "broadcasting"}):
        with pytest.raises(DatabaseError), transaction.atomic():
            CryptoPayment.objects.filter(pk=payment_id).update(**columns)


TABLE = {
    "awaiting_signature": {"broadcasting", "expired"}, "broadcasting": {"submitted", "awaiting_signature", "failed"},
    "submitted": {"confirmed", "failed"}, "confirmed": set(), "failed": set(), "expired": set(),
}  # fmt: skip


def test_code_allows_exactly_the_documented_crypto_payment_status_changes():
    for status, to in product(TABLE, [*TABLE, "bogus"]):
        with nullcontext() if to in TABLE[status] else pytest.raises(ValueError, match="Can't change a crypto payment"):
            CryptoPayment(status=status).check_transition(to, Actor.system("test"))


@pytest.mark.django_db
def test_random_crypto_payment_steps_make_only_allowed_status_changes():
    user = UserFactory()
    wallet = connected(user)

    @given(st.lists(st.sampled_from([*TABLE, "submitted", "broadcasting", "bogus"]), min_size=1, max_size=16))
    @examples(20)
    def walks(requested):
        payment = prepare_payment(
            owner=user, wallet_id=str(wallet.pk), to_address=OTHER_ADDRESS, amount_usdc=5, description=None,
            network=NETWORK, now=timezone.now(),
        )  # fmt: skip
        store_payment(payment)

        def move(item, to):
            signed = {"tx_hash": "0x" + "ab" * 32} if to == "broadcasting" else None
            item.transition_to(to, actor=Actor(user=user, credential="test"), now=timezone.now(), changes=signed)

        entered = walk(
            payment, requested, may=lambda status, to: to in TABLE[status], move=move, refusals=ValueError,
            history=lambda item: item.history.order_by("position"),
        )  # fmt: skip
        assert (payment.submitted_at is not None) == ("submitted" in entered)
        assert not {"confirmed", "failed", "expired"} & set(entered[:-1]), "a final status has changed"

    walks()


def test_every_network_alias_resolves_to_its_network():
    assert all(parse_network(alias) == network for alias, network in NETWORK_ALIASES.items())
