"""Query transactions on the settlement chain. If no chain is configured, the results are static."""

from typing import Any

from django.conf import settings

from config.core.errors import ValidationFailed
from config.core.ids import INT64_MAX
from payments.chain.addresses import parse_transaction_hash
from payments.chain.rpc import Node, Receipt, Transfer, printable
from payments.crypto.machine import CONFIRMED, FAILED, SUBMITTED
from payments.crypto.models import CryptoTransaction
from payments.crypto.network import settlement_node

NOT_FOUND = "not_found"
STATUSES = (SUBMITTED, CONFIRMED, FAILED, NOT_FOUND)
# The API returns these fields of a node's receipt unchanged. All nodes return them.
_RECEIPT_MEMBERS = (
    "transactionHash", "transactionIndex", "blockHash", "blockNumber", "from", "to", "contractAddress", "status",
    "type", "gasUsed", "cumulativeGasUsed", "effectiveGasPrice",
)  # fmt: skip
_LOG_MEMBERS = ("address", "data", "logIndex")


def read_hash(text: str) -> str:
    tx_hash = parse_transaction_hash(text)
    if tx_hash is None:
        raise ValidationFailed.of_member("tx_hash", "Must be 0x and 64 hex digits.")
    return tx_hash


def transaction_status(tx_hash: str) -> dict[str, Any]:
    """Return the status of a transaction. The status is `submitted` until the transaction has enough confirmations.

    Raises ProviderUnavailable.
    """
    if not settings.SETTLEMENT_RPC_URL:
        confirmations = settings.SETTLEMENT_CONFIRMATIONS
        return {"tx_hash": tx_hash, "status": CONFIRMED, "confirmations": confirmations, "simulated": True}
    with settlement_node() as node:
        receipt = node.receipt(tx_hash)
        confirmations = _confirmations(receipt, node)
        if receipt is None:
            status = SUBMITTED if node.has_transaction(tx_hash) else NOT_FOUND
        elif confirmations < settings.SETTLEMENT_CONFIRMATIONS:
            status = SUBMITTED
        else:
            status = CONFIRMED if receipt.succeeded else FAILED
    return {"tx_hash": tx_hash, "status": status, "confirmations": confirmations, "simulated": False}


def transaction_receipt(tx_hash: str) -> dict[str, Any]:
    """Return whether the transaction is a successful transfer of the settlement token. Raises ProviderUnavailable.

    If the transaction was sent for a payment, its transfer must match the payment.
    """
    verified = False
    if settings.SETTLEMENT_RPC_URL:
        with settlement_node() as node:
            verified = _transfer_of(tx_hash, node.receipt(tx_hash)) is not None
    return {"tx_hash": tx_hash, "verified": verified, "network": settings.SETTLEMENT_NETWORK}


def transaction_details(tx_hash: str) -> dict[str, Any]:
    """Return the receipt of a transaction, with its transfer and block. Raises ProviderUnavailable."""
    receipt, confirmations = None, 0
    if settings.SETTLEMENT_RPC_URL:
        with settlement_node() as node:
            receipt = node.receipt(tx_hash)
            confirmations = _confirmations(receipt, node)
    transfer = _transfer_of(tx_hash, receipt)
    amount = transfer.amount if transfer is not None else None
    return {
        "tx_hash": tx_hash,
        "verified": transfer is not None,
        "network": settings.SETTLEMENT_NETWORK,
        "block_number": receipt.block_number if receipt is not None else None,
        "from": transfer.from_address if transfer is not None else None,
        "to": transfer.to_address if transfer is not None else None,
        "amount_usdc": amount if amount is not None and amount <= INT64_MAX else None,
        "confirmations": confirmations,
        "receipt": _receipt_document(receipt.raw) if receipt is not None else None,
    }


def _confirmations(receipt: Receipt | None, node: Node) -> int:
    return 0 if receipt is None else max(node.block_number() - receipt.block_number + 1, 0)


def _transfer_of(tx_hash: str, receipt: Receipt | None) -> Transfer | None:
    if receipt is None or not receipt.transfers:
        return None
    signed = CryptoTransaction.objects.select_related("payment").filter(tx_hash=tx_hash).first()
    if signed is None:
        return receipt.transfers[0]
    payment = signed.payment
    expected = Transfer(payment.from_address, payment.to_address, payment.amount_usdc)
    return expected if expected in receipt.transfers else None


def _receipt_document(raw: dict[str, Any]) -> dict[str, Any]:
    logs = [log for log in _list(raw.get("logs")) if isinstance(log, dict)]
    return {
        **_texts(raw, _RECEIPT_MEMBERS),
        "logs": [
            {**_texts(log, _LOG_MEMBERS), "topics": [_text(topic) for topic in _list(log.get("topics"))]}
            for log in logs
        ],
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(raw: dict[str, Any], names: tuple[str, ...]) -> dict[str, str | None]:
    return {name: _text(raw.get(name)) for name in names}


def _text(value: Any) -> str | None:
    return None if value is None else printable(str(value))
