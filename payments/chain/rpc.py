"""A client for the JSON-RPC API of a node of the settlement chain. It never signs.

A `Node` serves one operation. All calls of the operation share the time limit NODE_TIMEOUT_SECONDS. Methods raise
ProviderError if the node is unreachable or its response is unusable, and NodeRefused if the node rejects the request.
"""

import itertools
import re
import time
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from django.conf import settings

from config.clients.provider import READ_TIMEOUT_SECONDS, ProviderError, call
from config.core.ids import INT64_MAX
from payments.chain.addresses import chain_id_of, checksum_address
from payments.chain.transactions import DECIMALS_SELECTOR, TRANSFER_TOPIC, balance_call_data

NODE_TIMEOUT_SECONDS = 20.0
_GAS_MARGIN_PERCENT = 20
_RECENT_BLOCKS = 5
_FALSE = "0x" + "0" * 64  # the value false, which some tokens return instead of reverting
# The largest accepted number from a node. Margins and doubled fees must fit into 64 bits.
_QUANTITY_MAX = INT64_MAX // 4
# Nodes that lack a method return a JSON-RPC or HTTP error, or an unreadable response.
_UNSUPPORTED = frozenset({"node_trouble", "unreadable"})
_QUANTITY = re.compile(r"0x(?:0|[1-9a-f][0-9a-f]{0,63})", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"0x[0-9a-f]{64}", re.ASCII | re.IGNORECASE)
_MESSAGE_MAX_LENGTH = 200
# These JSON-RPC errors are about the node or the connection, not about the request.
_TROUBLE_CODES = {-32700, -32600, -32601, -32603, -32002, -32005, 429}


class NodeRefused(Exception):
    """The node rejected the request. The message comes from the node and may contain amounts, so log only `word`."""

    word = "refused"

    def __init__(self, message: str) -> None:
        super().__init__(printable(message)[:_MESSAGE_MAX_LENGTH])


def printable(text: str) -> str:
    """Remove unprintable characters from external text. Databases can't store NUL and surrogates."""
    return "".join(character for character in text if character.isprintable())


@dataclass(frozen=True, slots=True)
class Transfer:
    from_address: str
    to_address: str
    amount: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of a mined transaction. `raw` is the receipt from the node."""

    block_number: int
    succeeded: bool
    transfers: tuple[Transfer, ...]
    raw: dict[str, Any]


# These caches contain verified nodes and the decimals of tokens. Both never change.
_verified: set[tuple[str, str]] = set()
_decimals: dict[tuple[str, str], int] = {}


class Node:
    """A client of the node at SETTLEMENT_RPC_URL, for one operation."""

    def __init__(self) -> None:
        """Start the time limit. Raises ProviderError if no node is configured, or if the node serves another chain."""
        self._url = settings.SETTLEMENT_RPC_URL
        self._ids = itertools.count(1)
        self._deadline = time.monotonic() + NODE_TIMEOUT_SECONDS
        if not self._url:
            raise ProviderError("not_configured", outcome_unknown=False)
        seen = (self._url, settings.SETTLEMENT_NETWORK)
        if seen not in _verified:
            if self._number("eth_chainId") != chain_id_of(settings.SETTLEMENT_NETWORK):
                raise ProviderError("wrong_chain", outcome_unknown=False)
            _verified.add(seen)

    def next_nonce(self, address: str) -> int:
        return self._number("eth_getTransactionCount", address, "pending")

    def used_nonces(self, address: str, *, at_block: int | None = None) -> int:
        """Return the number of mined transactions from an address, up to `at_block` (None: the latest block)."""
        return self._number("eth_getTransactionCount", address, "latest" if at_block is None else hex(at_block))

    def fees(self) -> dict[str, int]:
        """Return the fees per gas, in wei. The maximum fee covers several full blocks with a rising base fee."""
        block = self.ask("eth_getBlockByNumber", "latest", False)
        base_fee = block.get("baseFeePerGas") if isinstance(block, dict) else None
        if base_fee is None:  # a chain without EIP-1559
            price = self._number("eth_gasPrice")
            return {"max_fee_per_gas": price, "max_priority_fee_per_gas": price}
        tip = self._usual_tip(_quantity(base_fee))
        return {"max_fee_per_gas": 2 * _quantity(base_fee) + tip, "max_priority_fee_per_gas": tip}

    def _usual_tip(self, base_fee: int) -> int:
        """Return the usual tip per gas, in wei.

        The tip is the node's suggestion, or the median of recent blocks, or the gas price minus the base fee. Some
        nodes lack the first two methods.
        """
        for source in (self._suggested_tip, self._recent_tip):
            try:
                return source()
            except NodeRefused:
                continue
            except ProviderError as error:
                if error.word not in _UNSUPPORTED:
                    raise
        return max(self._number("eth_gasPrice") - base_fee, 0)

    def _suggested_tip(self) -> int:
        return self._number("eth_maxPriorityFeePerGas")

    def _recent_tip(self) -> int:
        """Return the median tip above the base fee in the latest blocks, in wei."""
        history = self.ask("eth_feeHistory", hex(_RECENT_BLOCKS), "latest", [50])
        rewards = history.get("reward") if isinstance(history, dict) else None
        if not isinstance(rewards, list) or not rewards or not all(isinstance(tips, list) and tips for tips in rewards):
            raise ProviderError("unreadable", outcome_unknown=False)
        return median_low(_quantity(tips[0]) for tips in rewards)

    def transfer_gas(self, *, sender: str, token: str, data: str) -> int:
        """Return the gas limit of a transfer, with a margin. Raises NodeRefused if the transfer would fail now."""
        transfer = {"from": sender, "to": token, "data": data}
        if self.ask("eth_call", transfer, "latest") == _FALSE:
            raise NodeRefused("the token declines the transfer")
        return self._number("eth_estimateGas", transfer) * (100 + _GAS_MARGIN_PERCENT) // 100

    def block_number(self) -> int:
        return self._number("eth_blockNumber")

    def has_transaction(self, tx_hash: str) -> bool:
        transaction = self.ask("eth_getTransactionByHash", tx_hash)
        return isinstance(transaction, dict) and str(transaction.get("hash", "")).lower() == tx_hash

    def receipt(self, tx_hash: str) -> Receipt | None:
        raw = self.ask("eth_getTransactionReceipt", tx_hash)
        if raw is None:
            return None
        if not isinstance(raw, dict) or str(raw.get("transactionHash", "")).lower() != tx_hash:
            raise ProviderError("unreadable", outcome_unknown=True)
        if raw.get("blockNumber") is None:
            return None  # some nodes return a receipt for a pending transaction
        succeeded = _quantity(raw.get("status")) == 1
        logs = raw.get("logs") if succeeded else None
        transfers = tuple(filter(None, map(_read_transfer, logs if isinstance(logs, list) else ())))
        return Receipt(_quantity(raw["blockNumber"]), succeeded, transfers, raw)

    def broadcast(self, raw: str) -> None:
        """Send a signed transaction to the network. Raises NodeRefused, or ProviderError for an unknown outcome."""
        self.ask("eth_sendRawTransaction", raw)

    def token_balance(self, address: str) -> int:
        return self._word({"to": settings.SETTLEMENT_TOKEN_ADDRESS, "data": balance_call_data(address)})

    def token_decimals(self) -> int:
        """Return the number of decimals of the settlement token. The process caches the number."""
        seen = (self._url, settings.SETTLEMENT_TOKEN_ADDRESS)
        if seen not in _decimals:
            decimals = self._word({"to": settings.SETTLEMENT_TOKEN_ADDRESS, "data": f"0x{DECIMALS_SELECTOR}"})
            if decimals > 255:
                raise ProviderError("unreadable", outcome_unknown=False)
            _decimals[seen] = decimals
        return _decimals[seen]

    def ask(self, method: str, *params: Any) -> Any:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ProviderError("timeout", outcome_unknown=False)
        number = next(self._ids)
        answer = call(
            "POST",
            self._url,
            json={"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)},
            seconds=min(left, READ_TIMEOUT_SECONDS),
        )
        content = answer.json()
        if not isinstance(content, dict) or answer.status not in {200, 400}:
            raise ProviderError("unreadable", outcome_unknown=True)
        error = content.get("error")
        if error is not None:
            code = error.get("code") if isinstance(error, dict) else None
            if not isinstance(code, int) or code in _TROUBLE_CODES:
                raise ProviderError("node_trouble", outcome_unknown=True)
            raise NodeRefused(str(error.get("message", "")))
        if content.get("id") != number or "result" not in content:
            raise ProviderError("unreadable", outcome_unknown=True)
        return content["result"]

    def _number(self, method: str, *params: Any) -> int:
        return _quantity(self.ask(method, *params))

    def _word(self, call: dict[str, str]) -> int:
        """Call a contract function that returns a number. Raises ProviderError if the contract rejects the call."""
        try:
            result = self.ask("eth_call", call, "latest")
        except NodeRefused as refusal:
            raise ProviderError("refused", outcome_unknown=False) from refusal
        if not isinstance(result, str) or not _WORD.fullmatch(result):
            raise ProviderError("unreadable", outcome_unknown=False)
        return int(result, 16)


def _quantity(value: Any) -> int:
    """Parse a JSON-RPC quantity. Raises ProviderError for an invalid quantity."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise ProviderError("unreadable", outcome_unknown=True)
    number = int(value, 16)
    if number > _QUANTITY_MAX:
        raise ProviderError("unreadable", outcome_unknown=True)
    return number


def _read_transfer(log: Any) -> Transfer | None:
    """Return the transfer if the log is a transfer of the settlement token. Return None for any other log."""
    if not isinstance(log, dict) or not isinstance(log.get("topics"), list):
        return None
    words = [*log["topics"], log.get("data")]
    if len(words) != 4 or not all(isinstance(word, str) and _WORD.fullmatch(word) for word in words):
        return None
    topic, sender, recipient, amount = words
    if topic.lower() != TRANSFER_TOPIC or str(log.get("address")).lower() != settings.SETTLEMENT_TOKEN_ADDRESS.lower():
        return None
    return Transfer(checksum_address(f"0x{sender[-40:]}"), checksum_address(f"0x{recipient[-40:]}"), int(amount, 16))
