"""The statuses of a crypto payment over random walks."""

from contextlib import nullcontext
from itertools import product

import hypothesis.strategies as st
import pytest
from django.utils import timezone
from hypothesis import given

from config.core.lifecycle import Actor
from payments.crypto.broadcast import prepare_payment, store_payment
from payments.crypto.models import CryptoPayment
from tests.factories import UserFactory
from tests.payments.wallet_support import NETWORK, OTHER_ADDRESS, connected
from tests.properties import examples
from tests.walks import walk

TABLE = {
    "awaiting_signature": {"broadcasting", "expired"}, "broadcasting": {"submitted", "awaiting_signature", "failed"},
    "submitted": {"confirmed", "failed"}, "confirmed": set(), "failed": set(), "expired": set(),
}  # fmt: skip


def test_every_cell_of_the_table_is_what_the_code_decides():
    for status, to in product(TABLE, [*TABLE, "bogus"]):
        with nullcontext() if to in TABLE[status] else pytest.raises(ValueError, match="does not move"):
            CryptoPayment(status=status).check_transition(to, Actor.system("test"))


@pytest.mark.django_db
def test_no_walk_leaves_the_table():
    user = UserFactory()
    wallet = connected(user)

    @given(st.lists(st.sampled_from([*TABLE, "submitted", "broadcasting", "bogus"]), min_size=1, max_size=16))
    @examples(20)
    def walks(asked):
        payment = prepare_payment(
            owner=user, wallet_id=str(wallet.pk), to_address=OTHER_ADDRESS, amount_usdc=5, description=None,
            network=NETWORK, now=timezone.now(),
        )  # fmt: skip
        store_payment(payment)

        def move(one, to):
            signed = {"tx_hash": "0x" + "ab" * 32} if to == "broadcasting" else None
            one.transition_to(to, actor=Actor(user=user, credential="test"), now=timezone.now(), changes=signed)

        entered = walk(
            payment, asked, may=lambda status, to: to in TABLE[status], move=move, refusals=ValueError,
            history=lambda one: one.history.order_by("position"),
        )  # fmt: skip
        assert (payment.submitted_at is not None) == ("submitted" in entered)
        assert not {"confirmed", "failed", "expired"} & set(entered[:-1]), "what is final stays"

    walks()
