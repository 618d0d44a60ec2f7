"""Initiate crypto payments, and validate and send the transactions that the user's wallet signs.

The platform has no keys and never signs. It stores the requested transfer, requires that a signed transaction is
exactly this transfer, and sends the signed transaction.

# Note [At most one transaction]

A user must not pay twice. So at most one of the transactions that were signed for a payment may be mined:

- A signed transaction is stored with its hash before it is sent (`broadcasting`). If the response is lost, the
  transaction is looked up by its hash. Until its outcome is known, the API accepts no other transaction.
- If a node rejects a transaction, the wallet may sign another transaction, for example with a higher fee. However,
  third parties can still send the rejected transaction. So the new transaction must have the same nonce, because only
  one transaction per nonce can be mined. A different nonce is accepted if the nonces of all earlier transactions are
  used.
- A transaction belongs to the payment for which it was first sent. Its nonce must not be older than the payment, so
  that an unrelated earlier transfer doesn't settle this payment.

`settlement` follows submitted payments.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from config.core.errors import ValidationFailed
from config.core.idempotency_keys import RequestInProgress
from config.core.ids import get_by_uuid, uuid7
from config.core.lifecycle import Actor
from payments.chain.addresses import chain_id_of, checksum_address, has_no_owner
from payments.chain.rpc import Node, NodeRefused
from payments.chain.transactions import (
    SignedTransaction,
    UnreadableTransaction,
    decode_signed,
    placeholder_transaction,
    read_transfer,
    simulated_hash,
    transfer_call_data,
)
from payments.crypto.machine import AWAITING_SIGNATURE, BROADCASTING, EXPIRED
from payments.crypto.models import CryptoPayment, CryptoTransaction, LostRace, record_crypto_event
from payments.crypto.network import mark_submitted, move_payment, send_to_network, settlement_node
from payments.errors import (
    BroadcastRefused,
    PaymentExpired,
    PaymentNotFound,
    SignedTransactionMismatch,
    TransferWouldFail,
    WalletNotFound,
)

# The maximum time for the wallet to sign. Later, the offered fees and nonce may be outdated.
SIGNING_MINUTES = 15
_CONFIRM_TRIES = 3


def load_payment(payment_id: str, user: Any) -> CryptoPayment:
    return get_by_uuid(CryptoPayment.objects.filter(user=user), payment_id, PaymentNotFound)


def prepare_payment(
    *,
    owner: Any,
    wallet_id: str,
    to_address: str,
    amount_usdc: int,
    description: str | None,
    network: str,
    now: datetime,
) -> CryptoPayment:
    """Return an unsaved payment of `amount_usdc` smallest units. `unsigned` is the transaction to sign.

    Raises WalletNotFound for an unknown wallet, and TransferWouldFail if the network predicts a failure. Raises
    ValidationFailed for a custodial wallet, a recipient that can't receive the payment, or a network other than the
    settlement network. Raises ProviderUnavailable if the chain doesn't return the nonce and the fees.
    """
    wallet = get_by_uuid(owner.wallets.connected(), wallet_id, WalletNotFound)
    if wallet.is_custodial:
        raise ValidationFailed.of_member(
            "wallet_id",
            "The custody vendor holds the keys of this wallet, so it can't sign. Send the id of a wallet of the kind "
            "`walletconnect`.",
        )
    _check_recipient(to_address, payer=wallet.address)
    simulated = not settings.SETTLEMENT_RPC_URL
    if not simulated and network != settings.SETTLEMENT_NETWORK:
        raise ValidationFailed.of_member(
            "network", f"Payments do not settle on this network. Send {settings.SETTLEMENT_NETWORK}, or null."
        )
    payment = CryptoPayment(
        id=uuid7(),
        user=owner,
        wallet=wallet,
        simulated=simulated,
        network=network,
        from_address=wallet.address,
        to_address=to_address,
        token_address="" if simulated else checksum_address(settings.SETTLEMENT_TOKEN_ADDRESS),
        amount_usdc=amount_usdc,
        description=description,
        status=AWAITING_SIGNATURE,
        expires_at=now + timedelta(minutes=SIGNING_MINUTES),
        created_at=now,
        updated_at=now,
    )
    if simulated:
        payment.unsigned = placeholder_transaction(payment.pk, network=network, to_address=to_address)
    else:
        with settlement_node() as node:
            payment.unsigned = _unsigned_transfer(payment, node)
        payment.first_nonce = payment.unsigned["nonce"]
    return payment


def _check_recipient(address: str, *, payer: str) -> None:
    """Raise ValidationFailed if the recipient has no owner, or is the payer or the token contract."""
    if has_no_owner(address):
        raise ValidationFailed.of_member(
            "to_address",
            "This is the zero address, a burn address, or a contract of the network: a transfer to it would be lost. "
            "Send the address of a wallet.",
        )
    if address == payer:
        raise ValidationFailed.of_member(
            "to_address", "This is the wallet that pays. Send the address of another wallet."
        )
    if address.lower() == settings.SETTLEMENT_TOKEN_ADDRESS.lower():
        raise ValidationFailed.of_member(
            "to_address",
            "This is the contract of the token: a transfer to it would be lost. Send the address of a wallet.",
        )


@transaction.atomic
def store_payment(payment: CryptoPayment) -> None:
    payment.save(force_insert=True)
    record_crypto_event("initiated", payment, now=payment.created_at)


def confirm_payment(
    payment_id: str, *, actor: Actor, signed_transaction: str, network: str | None, now: datetime
) -> CryptoPayment:
    """Send the signed transaction of a payment to the network. Idempotent for the same transaction.

    Raises PaymentNotFound, SignedTransactionMismatch, and PaymentExpired. If the node rejects the transaction, raises
    BroadcastRefused, and the payment stays open. If the outcome is unknown, raises ProviderUnavailable. A retry then
    looks up the transaction before it sends the transaction again.
    """
    payment = load_payment(payment_id, actor.user)
    if network is not None and network != payment.network:
        raise SignedTransactionMismatch(
            f"`network` must be {payment.network}, on which the payment was initiated, not {network}.",
            details=[{"field": "network", "message": f"Must be {payment.network}."}],
        )
    for _ in range(_CONFIRM_TRIES):
        try:
            if payment.simulated:
                return _confirm_simulated(payment, actor=actor, now=now)
            return _confirm(payment, _decode(signed_transaction), actor=actor, now=now)
        except LostRace:
            # Another request or the worker changed the payment, so load it again.
            payment = load_payment(payment_id, actor.user)
    raise RequestInProgress


def _confirm_simulated(payment: CryptoPayment, *, actor: Actor, now: datetime) -> CryptoPayment:
    """Simulate the submission, as the specification requires. The hash belongs to no transaction."""
    if payment.tx_hash is None:
        _check_open(payment, actor=actor, now=now)
        with transaction.atomic():
            mark_submitted(payment, simulated_hash(payment.pk), actor=actor, now=now)
    return payment


def _confirm(payment: CryptoPayment, signed: SignedTransaction, *, actor: Actor, now: datetime) -> CryptoPayment:
    """Validate a decoded transaction against the payment, and send the transaction if necessary."""
    _check_content(payment, signed)
    resumed = payment.status == BROADCASTING
    if payment.status not in {AWAITING_SIGNATURE, EXPIRED} and signed.tx_hash != payment.tx_hash:
        raise SignedTransactionMismatch(
            "Another signed transaction was sent for this payment before. The API sent nothing to the network."
        )
    if payment.status not in {AWAITING_SIGNATURE, BROADCASTING, EXPIRED}:
        return payment
    if not resumed:
        _check_open(payment, actor=actor, now=now)
    with settlement_node() as node:
        if not resumed:
            _check_nonce(payment, signed, node)
            _claim(payment, signed, actor=actor, now=now)
        send_to_network(payment, node=node, actor=actor, now=now, resumed=resumed)
    return payment


def _check_open(payment: CryptoPayment, *, actor: Actor, now: datetime) -> None:
    """Raise PaymentExpired after the signing deadline, and change the status to `expired` if necessary."""
    if payment.status != EXPIRED and now < payment.expires_at:
        return
    # If an earlier transaction was signed, the worker first looks up that transaction on the chain.
    if payment.status == AWAITING_SIGNATURE and not payment.transactions.exists():
        move_payment(payment, EXPIRED, actor=actor, now=now, reason="Not signed in time.")
    raise PaymentExpired


def _decode(signed_transaction: str) -> SignedTransaction:
    try:
        return decode_signed(signed_transaction)
    except UnreadableTransaction as error:
        raise SignedTransactionMismatch(f"The signed transaction is not valid. {error}") from error


def _check_content(payment: CryptoPayment, signed: SignedTransaction) -> None:
    """Raise SignedTransactionMismatch, with all differences, if the transaction is not the payment's transfer."""
    differences = []
    if signed.chain_id != chain_id_of(payment.network):
        differences.append(("chain", f"Signed for chain {signed.chain_id}, initiated on {payment.network}."))
    if signed.sender != payment.from_address:
        differences.append(("sender", f"Signed by {signed.sender}, initiated for {payment.from_address}."))
    if signed.to != payment.token_address:
        differences.append(("asset", f"Sent to {signed.to}, the asset's contract is {payment.token_address}."))
    if signed.value:
        differences.append(("value", "It also moves the chain's native coin. The value must be 0."))
    # Compare the whole call, so that no extra data can follow the decoded arguments.
    if signed.data != transfer_call_data(payment.to_address, payment.amount_usdc):
        transfer = read_transfer(signed.data)
        if transfer is None:
            differences.append(("data", "It is not the call of a transfer."))
        else:
            recipient, amount = transfer
            if recipient != payment.to_address:
                differences.append(("recipient", f"Pays {recipient}, initiated for {payment.to_address}."))
            if amount != payment.amount_usdc:
                differences.append(("amount", f"Pays {amount}, initiated over {payment.amount_usdc}."))
    if differences:
        names = ", ".join(name for name, _ in differences)
        raise SignedTransactionMismatch(
            f"The signed transaction differs from the initiated transaction: {names}. The API sent nothing to the "
            "network.",
            details=[{"field": name, "message": message} for name, message in differences],
        )


def _check_nonce(payment: CryptoPayment, signed: SignedTransaction, node: Node) -> None:
    """Reject a nonce that is older than the payment or permits two transfers. See Note [At most one transaction]."""
    if signed.nonce < payment.first_nonce:
        raise BroadcastRefused(f"The network rejects the signed transaction: its nonce {signed.nonce} is already used.")
    others = [earlier for earlier in payment.transactions.all() if earlier.nonce != signed.nonce]
    if not others:
        return
    used = node.used_nonces(payment.from_address)
    for earlier in others:
        if earlier.nonce >= used:
            raise SignedTransactionMismatch(
                f"A transaction with nonce {earlier.nonce} was signed for this payment before and is still valid. "
                f"Sign with nonce {earlier.nonce}, so that only one of them can count. Nothing was sent.",
                details=[{"field": "nonce", "message": f"Must be {earlier.nonce}."}],
            )
        if node.has_transaction(earlier.tx_hash):
            raise SignedTransactionMismatch(
                f"The transaction {earlier.tx_hash}, signed for this payment before, is on the chain. Nothing was sent."
            )


def _claim(payment: CryptoPayment, signed: SignedTransaction, *, actor: Actor, now: datetime) -> None:
    """Commit the transaction and its hash before sending, so that the outcome can be looked up."""
    with transaction.atomic():
        stored, _ = CryptoTransaction.objects.get_or_create(
            tx_hash=signed.tx_hash,
            defaults={"payment": payment, "nonce": signed.nonce, "raw": signed.raw, "given_at": now},
        )
        if stored.payment_id != payment.pk:
            raise SignedTransactionMismatch(
                "This signed transaction was sent for another payment before. The API sent nothing to the network."
            )
        move_payment(payment, BROADCASTING, actor=actor, now=now, tx_hash=signed.tx_hash)


def _unsigned_transfer(payment: CryptoPayment, node: Node) -> dict[str, Any]:
    token, data = payment.token_address, transfer_call_data(payment.to_address, payment.amount_usdc)
    nonce = node.next_nonce(payment.from_address)
    try:
        gas = node.transfer_gas(sender=payment.from_address, token=token, data=data)
    except NodeRefused as refusal:
        raise TransferWouldFail(f"The network reports that this transfer would fail: {refusal}.") from refusal
    call = {"to": token, "data": data, "value": 0, "chain_id": chain_id_of(payment.network), "nonce": nonce, "gas": gas}
    return {**call, **node.fees()}
