"""Follow submitted payments until they are final, and expire unsigned ones.

A transaction is final after SETTLEMENT_CONFIRMATIONS blocks. Until then, the network may replace its block, and the
payment stays `submitted`. If the network dropped a transaction, it is sent again: it is valid until its nonce is used.
If another transaction used the nonce, and has as many confirmations, the payment has failed.

`reconcile_payments` calls this module. Any number of workers can run it at any time: each transition is a
compare-and-set, and the slower worker does nothing.
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
from payments.crypto.network import hand_to_network, mark_submitted, move_payment
from payments.errors import BroadcastRefused

logger = logging.getLogger("platform.settlement")

ACTOR = Actor.system("reconcile_payments")
# Longer than any request that sends, so no process is still working on such a payment.
RESUME_AFTER_SECONDS = 60
# Blocks take seconds, and nodes limit requests.
LOOK_AGAIN_SECONDS = 10
_LEASE = timedelta(minutes=1)  # for one payment; longer than NODE_TIMEOUT_SECONDS
_OUT_OF_REACH = frozenset({"connect", "tls", "timeout", "reset", "not_configured", "wrong_chain", "node_trouble"})

REVERTED, NO_TRANSFER, REPLACED = "reverted", "no_transfer", "replaced"


def settle_crypto(*, now: datetime) -> dict[str, int]:
    """Process submitted and interrupted payments, and expire unsigned ones.

    Return the numbers of payments that were `confirmed`, `failed`, `resumed`, `expired`, or are `waiting`.
    `unreachable` is 1 if a response of the node was missing or not usable. If the node can't be reached, the next run
    continues. Each payment has its own deadline, and no transaction is open around it.
    """
    patience, pause = timedelta(seconds=RESUME_AFTER_SECONDS), timedelta(seconds=LOOK_AGAIN_SECONDS)
    moving = Q(status=SUBMITTED) | Q(status=BROADCASTING, updated_at__lte=now - patience)
    overdue = Q(status=AWAITING_SIGNATURE, expires_at__lte=now)
    # Start with the payment that was checked least recently, so that a failing one doesn't block the others.
    queue = CryptoPayment.objects.filter(moving | overdue).order_by(F("look_at").asc(nulls_first=True), "id")
    items = FailedItems("crypto_payment", queue, lease=_LEASE)
    counts = dict.fromkeys(("confirmed", "failed", "waiting", "resumed", "expired", "unreachable", "errors"), 0)

    def attend(payment: CryptoPayment) -> Any:
        try:
            node = None if payment.simulated or not settings.SETTLEMENT_RPC_URL else Node()
            outcome = _attend(payment, node=node, now=now)
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
    counts["errors"] = items.process(attend, now=now, choose=lambda rows: rows.filter(due).values_list("pk", flat=True))
    return counts


def _attend(payment: CryptoPayment, *, node: Node | None, now: datetime) -> str:
    """Process one payment. Raises ProviderError for an unusable response, LostRace after a concurrent change."""
    if payment.status == AWAITING_SIGNATURE:
        return _expire(payment, node=node, now=now)
    outcome = _follow(payment, node=node, now=now)
    if outcome not in {CONFIRMED, FAILED}:
        again = now + timedelta(seconds=LOOK_AGAIN_SECONDS)
        CryptoPayment.objects.filter(pk=payment.pk).update(look_at=again)
    return outcome


def _follow(payment: CryptoPayment, *, node: Node | None, now: datetime) -> str:
    """Update one payment from its transaction. Return `confirmed`, `failed`, `resumed`, or `waiting`."""
    if payment.simulated:
        mark_submitted(payment, str(payment.tx_hash), actor=ACTOR, now=now)
        return move_payment(payment, CONFIRMED, actor=ACTOR, now=now, reason="Simulated.", tx_hash=payment.tx_hash)
    if node is None:
        return "waiting"  # the chain is disabled, so its payments wait
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
        if node.knows(transaction.tx_hash):
            mark_submitted(payment, transaction.tx_hash, actor=ACTOR, now=now)
            return "waiting"
    deep = max(node.block_number() - settings.SETTLEMENT_CONFIRMATIONS + 1, 0)
    if node.used_nonces(payment.from_address, at_block=deep) > max(transaction.nonce for transaction in signed):
        return move_payment(payment, FAILED, actor=ACTOR, now=now, reason=REPLACED, tx_hash=payment.tx_hash)
    if payment.status == BROADCASTING:
        try:
            hand_to_network(payment, node=node, actor=ACTOR, now=now, resumed=True)
        except BroadcastRefused:
            return "waiting"  # for another signature, until it expires
        return "resumed"
    try:
        node.broadcast(next(transaction.raw for transaction in signed if transaction.tx_hash == payment.tx_hash))
    except NodeRefused:
        logger.warning("the dropped transaction of payment %s is refused", payment.pk)
        return "waiting"
    return "resumed"


def _expire(payment: CryptoPayment, *, node: Node | None, now: datetime) -> str:
    """Expire one payment, unless the network has a transaction that a node rejected earlier."""
    signed = list(payment.transactions.all())
    if signed and node is None:
        return "waiting"
    for transaction in signed:
        if node is not None and node.knows(transaction.tx_hash):
            mark_submitted(payment, transaction.tx_hash, actor=ACTOR, now=now)
            return "resumed"
    return move_payment(payment, EXPIRED, actor=ACTOR, now=now, reason="Not signed in time.")
