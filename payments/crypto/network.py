"""Send a crypto payment's transaction to the network, and read its state.

No database transaction is open during a call to the node. If the payment has changed when the response arrives, the
transition raises LostRace.
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
    """Open a client of the settlement chain's node for one operation. Convert its errors to ProviderUnavailable."""
    try:
        yield Node()
    except (ProviderError, NodeRefused) as error:
        logger.warning("settlement node: %s", error.word)
        raise ProviderUnavailable("The node of the settlement chain is not available. Retry later.") from error


def move_payment(
    payment: CryptoPayment, to: str, *, actor: Actor, now: datetime, reason: str | None = None, **about: Any
) -> str:
    """Change a payment's status in a new transaction, and return `to`. `about` contains further columns to update."""
    with transaction.atomic():
        payment.transition_to(to, actor=actor, now=now, reason=reason, metadata=about or None, changes=about or None)
    return to


def mark_submitted(payment: CryptoPayment, tx_hash: str, *, actor: Actor, now: datetime) -> None:
    """Store that the network has a signed transaction of the payment, even if a node rejected it earlier."""
    if payment.status == AWAITING_SIGNATURE:
        move_payment(payment, BROADCASTING, actor=actor, now=now, tx_hash=tx_hash)
    if payment.status == BROADCASTING:
        move_payment(payment, SUBMITTED, actor=actor, now=now, tx_hash=tx_hash)


def send_to_network(payment: CryptoPayment, *, node: Node, actor: Actor, now: datetime, resumed: bool) -> None:
    """Send the signed transaction of a payment in `broadcasting`, and store that the network has the transaction.

    If `resumed` is true, the network may already have the transaction. A node may also reject a transaction that the
    node already has. In both cases, a look-up by hash determines the outcome. Raises BroadcastRefused if the node
    rejected the transaction and does not have the transaction. The status then changes to `awaiting_signature`. Raises
    ProviderError if the outcome is unknown. The status then stays `broadcasting`.
    """
    signed = CryptoTransaction.objects.get(payment=payment, tx_hash=payment.tx_hash)
    if not (resumed and node.has_transaction(signed.tx_hash)):
        try:
            node.broadcast(signed.raw)
        except NodeRefused as refusal:
            if not node.has_transaction(signed.tx_hash):
                move_payment(payment, AWAITING_SIGNATURE, actor=actor, now=now, reason=str(refusal))
                raise BroadcastRefused(f"The network rejects the signed transaction: {refusal}.") from refusal
        except ProviderError as error:
            if not error.outcome_unknown and not resumed:
                # The transaction was not sent, by this attempt or by an earlier attempt.
                move_payment(payment, AWAITING_SIGNATURE, actor=actor, now=now, reason=str(error))
            raise
    mark_submitted(payment, signed.tx_hash, actor=actor, now=now)
