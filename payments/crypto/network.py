"""Send a crypto payment's transaction to the network, and read its state.

No database transaction is open during a call to the node. After the response, a transition is stored only if the
payment has not changed since it was read. Otherwise it raises LostRace.
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
    """Open the settlement chain's node for one operation. Its errors become ProviderUnavailable."""
    try:
        yield Node()
    except (ProviderError, NodeRefused) as error:
        logger.warning("settlement node: %s", error.word)
        raise ProviderUnavailable("The node of the settlement chain is not available. Retry later.") from error


def move_payment(
    payment: CryptoPayment, to: str, *, actor: Actor, now: datetime, reason: str | None = None, **about: Any
) -> str:
    """Change a payment's status in a new transaction. Return `to`. `about` has columns about the signed one."""
    with transaction.atomic():
        payment.transition_to(to, actor=actor, now=now, reason=reason, metadata=about or None, changes=about or None)
    return to


def mark_submitted(payment: CryptoPayment, tx_hash: str, *, actor: Actor, now: datetime) -> None:
    """Store that the network has this signed transaction of the payment, regardless of earlier responses."""
    if payment.status == AWAITING_SIGNATURE:
        move_payment(payment, BROADCASTING, actor=actor, now=now, tx_hash=tx_hash)
    if payment.status == BROADCASTING:
        move_payment(payment, SUBMITTED, actor=actor, now=now, tx_hash=tx_hash)


def hand_to_network(payment: CryptoPayment, *, node: Node, actor: Actor, now: datetime, resumed: bool) -> None:
    """Send the signed transaction of a payment in `broadcasting`, and store that the network has it.

    Its hash is known before it is sent. A `resumed` transaction may already be on the network, for which a node may
    also reject it: a look-up by the hash resolves both. Raises BroadcastRefused if the node rejected it and does not
    have it: the payment waits for a signature again. Raises ProviderError for an unknown outcome: the status stays.
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
                # The transaction was not sent, neither now nor by an earlier attempt.
                move_payment(payment, AWAITING_SIGNATURE, actor=actor, now=now, reason=str(error))
            raise
    mark_submitted(payment, signed.tx_hash, actor=actor, now=now)
