"""Between a crypto payment and the network: reading back, sending, and the two ways in which that can end.

Nothing here opens a transaction while it waits for the node. A move is written after the node has answered, compared
with the payment as it was read; after a concurrent move it raises LostRace.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction

from config.clients.provider import ProviderError, ProviderUnavailable
from config.core.lifecycle import Actor
from payments.chain.rpc import Node, NodeRefused
from payments.crypto.machine import AWAITING_SIGNATURE, BROADCASTING, SUBMITTED
from payments.crypto.models import CryptoPayment, CryptoTransaction
from payments.errors import BroadcastRefused

logger = logging.getLogger("platform.settlement")


@contextmanager
def settlement_node() -> Iterator[Node]:
    """Open the settlement chain's node for one operation; its failures become ProviderUnavailable."""
    try:
        yield Node()
    except (ProviderError, NodeRefused) as error:
        logger.warning("settlement node: %s", error.word)
        raise ProviderUnavailable("The node of the settlement chain is not available. Retry later.") from error


def move_payment(
    payment: CryptoPayment, to: str, *, actor: Actor, now: datetime, reason: str | None = None, **about: Any
) -> str:
    """Move a payment in a transaction of its own; return `to`. `about` are columns that name its signed transaction."""
    with transaction.atomic():
        payment.transition_to(to, actor=actor, now=now, reason=reason, metadata=about or None, changes=about or None)
    return to


def mark_submitted(payment: CryptoPayment, tx_hash: str, *, actor: Actor, now: datetime) -> None:
    """Record that the network has this signed transaction of the payment, regardless of earlier answers."""
    if payment.status == AWAITING_SIGNATURE:
        move_payment(payment, BROADCASTING, actor=actor, now=now, tx_hash=tx_hash)
    if payment.status == BROADCASTING:
        move_payment(payment, SUBMITTED, actor=actor, now=now, tx_hash=tx_hash)


def hand_to_network(payment: CryptoPayment, *, node: Node, actor: Actor, now: datetime, resumed: bool) -> None:
    """Send the signed transaction of a payment in `broadcasting`, and record that the network has it.

    Its hash is known before it is sent. A `resumed` one may be there already, and a node that declines may decline for
    that reason: the hash resolves both. Raises BroadcastRefused when the node has declined and does not have it (the
    payment waits for a signature again), ProviderError when the outcome is unknown (the payment stays).
    """
    signed = CryptoTransaction.objects.get(payment=payment, tx_hash=payment.tx_hash)
    if not (resumed and node.knows(signed.tx_hash)):
        try:
            node.broadcast(signed.raw)
        except NodeRefused as refusal:
            if not node.knows(signed.tx_hash):
                move_payment(payment, AWAITING_SIGNATURE, actor=actor, now=now, reason=str(refusal))
                raise BroadcastRefused(f"The network rejects the signed transaction: {refusal}.") from refusal
        except ProviderError as error:
            if not error.outcome_unknown and not resumed:
                # It never left, and no earlier try may have sent it.
                move_payment(payment, AWAITING_SIGNATURE, actor=actor, now=now, reason=str(error))
            raise
    mark_submitted(payment, signed.tx_hash, actor=actor, now=now)
