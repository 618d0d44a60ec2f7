"""Follow submitted payments until they are final, and expire unsigned payments.

A transaction is final after SETTLEMENT_CONFIRMATIONS blocks. Until then, the network may replace the block, and the
payment stays `submitted`. If the network dropped a transaction, the worker sends it again: a transaction is valid until
its nonce is used. If another transaction with the same nonce is final, the payment has failed.

`reconcile_payments` calls this module. Any number of workers can run this module concurrently, because each transition
is a compare-and-set. The slower worker changes nothing.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q

from config.clients.provider import ProviderError
from config.core.lifecycle import Actor
from config.ops.failed_items import STOP, FailedItems
from payments.chain.rpc import Node, NodeRefused, Receipt, Transfer
from payments.crypto.machine import AWAITING_SIGNATURE, BROADCASTING, CONFIRMED, EXPIRED, FAILED, SUBMITTED
from payments.crypto.models import CryptoPayment, CryptoTransaction, LostRace
from payments.crypto.network import mark_submitted, move_payment, send_to_network
from payments.errors import BroadcastRefused

logger = logging.getLogger("platform.settlement")

ACTOR = Actor.system("reconcile_payments")
# Requests finish within this time, so the worker can resume the transaction.
RESUME_AFTER_SECONDS = 60
# The interval between two checks of a payment. Blocks take seconds, and nodes have rate limits.
LOOK_AGAIN_SECONDS = 10
_LEASE = timedelta(minutes=1)  # the lease of a payment must be longer than NODE_TIMEOUT_SECONDS
_OUT_OF_REACH = frozenset({"connect", "tls", "timeout", "reset", "not_configured", "wrong_chain", "node_trouble"})

REVERTED, NO_TRANSFER, REPLACED = "reverted", "no_transfer", "replaced"


def settle_crypto(*, now: datetime) -> dict[str, int]:
    """Process submitted and interrupted payments, and expire unsigned payments.

    Returns the number of payments per outcome: `confirmed`, `failed`, `resumed`, `expired`, `waiting`, and `errors`.
    `unreachable` is 1 if a response of the node was missing or unusable. If the node is unreachable, the run stops.
    Each payment has its own time limit, and no transaction is open during its processing.
    """
    patience, pause = timedelta(seconds=RESUME_AFTER_SECONDS), timedelta(seconds=LOOK_AGAIN_SECONDS)
    moving = Q(status=SUBMITTED) | Q(status=BROADCASTING, updated_at__lte=now - patience)
    overdue = Q(status=AWAITING_SIGNATURE, expires_at__lte=now)
    # The oldest check comes first, so that a failing payment doesn't block other payments.
    queue = CryptoPayment.objects.filter(moving | overdue).order_by(F("look_at").asc(nulls_first=True), "id")
    items = FailedItems("crypto_payment", queue, lease=_LEASE)
    counts = dict.fromkeys(("confirmed", "failed", "waiting", "resumed", "expired", "unreachable", "errors"), 0)

    def process_payment(payment: CryptoPayment) -> Any:
        try:
            node = None if payment.simulated or not settings.SETTLEMENT_RPC_URL else Node()
            outcome = _process(payment, node=node, now=now)
        except LostRace:
            return None
        except (ProviderError, NodeRefused) as error:
            logger.warning("settlement node: %s", error.word)
            CryptoPayment.objects.filter(pk=payment.pk).update(look_at=now + pause)
            counts["unreachable"] = 1
            return STOP if error.word in _OUT_OF_REACH else None
        counts[outcome] += 1
        return None

    due = Q(look_at__isnull=True) | Q(look_at__lte=now)
    counts["errors"] = items.process(
        process_payment, now=now, choose=lambda rows: rows.filter(due).values_list("pk", flat=True)
    )
    return counts


def _process(payment: CryptoPayment, *, node: Node | None, now: datetime) -> str:
    """Process a payment. Raises ProviderError for an unusable response, and LostRace after a concurrent change."""
    if payment.status == AWAITING_SIGNATURE:
        return _expire(payment, node=node, now=now)
    outcome = _follow(payment, node=node, now=now)
    if outcome not in {CONFIRMED, FAILED}:
        again = now + timedelta(seconds=LOOK_AGAIN_SECONDS)
        CryptoPayment.objects.filter(pk=payment.pk).update(look_at=again)
    return outcome


def _follow(payment: CryptoPayment, *, node: Node | None, now: datetime) -> str:
    """Update a payment from its transactions. Return `confirmed`, `failed`, `resumed`, or `waiting`."""
    if payment.simulated:
        mark_submitted(payment, str(payment.tx_hash), actor=ACTOR, now=now)
        return move_payment(payment, CONFIRMED, actor=ACTOR, now=now, reason="Simulated.", tx_hash=payment.tx_hash)
    if node is None:
        return "waiting"  # no chain is configured
    signed = list(payment.transactions.all())
    for transaction in signed:
        receipt = node.receipt(transaction.tx_hash)
        if receipt is not None:
            return _follow_mined(payment, transaction, receipt, node=node, now=now)
    return _follow_unmined(payment, signed, node=node, now=now)


def _follow_mined(
    payment: CryptoPayment, transaction: CryptoTransaction, receipt: Receipt, *, node: Node, now: datetime
) -> str:
    mark_submitted(payment, transaction.tx_hash, actor=ACTOR, now=now)
    if node.block_number() - receipt.block_number + 1 < settings.SETTLEMENT_CONFIRMATIONS:
        return "waiting"
    paid = Transfer(payment.from_address, payment.to_address, payment.amount_usdc)
    about: dict[str, Any] = {"tx_hash": transaction.tx_hash, "block_number": receipt.block_number}
    if paid in receipt.transfers:
        return move_payment(payment, CONFIRMED, actor=ACTOR, now=now, **about)
    failure = NO_TRANSFER if receipt.succeeded else REVERTED
    return move_payment(payment, FAILED, actor=ACTOR, now=now, reason=failure, **about)


def _follow_unmined(payment: CryptoPayment, signed: list[CryptoTransaction], *, node: Node, now: datetime) -> str:
    for transaction in signed:
        if node.has_transaction(transaction.tx_hash):
            mark_submitted(payment, transaction.tx_hash, actor=ACTOR, now=now)
            return "waiting"
    deep = max(node.block_number() - settings.SETTLEMENT_CONFIRMATIONS + 1, 0)
    if node.used_nonces(payment.from_address, at_block=deep) > max(transaction.nonce for transaction in signed):
        return move_payment(payment, FAILED, actor=ACTOR, now=now, reason=REPLACED, tx_hash=payment.tx_hash)
    if payment.status == BROADCASTING:
        try:
            send_to_network(payment, node=node, actor=ACTOR, now=now, resumed=True)
        except BroadcastRefused:
            return "waiting"  # the payment waits for another signature
        return "resumed"
    try:
        node.broadcast(next(transaction.raw for transaction in signed if transaction.tx_hash == payment.tx_hash))
    except NodeRefused:
        logger.warning("the node rejected the dropped transaction of payment %s", payment.pk)
        return "waiting"
    return "resumed"


def _expire(payment: CryptoPayment, *, node: Node | None, now: datetime) -> str:
    """Expire a payment. If the network has a transaction of the payment, mark the payment as submitted instead."""
    signed = list(payment.transactions.all())
    if signed and node is None:
        return "waiting"
    for transaction in signed:
        if node is not None and node.has_transaction(transaction.tx_hash):
            mark_submitted(payment, transaction.tx_hash, actor=ACTOR, now=now)
            return "resumed"
    return move_payment(payment, EXPIRED, actor=ACTOR, now=now, reason="Not signed in time.")
