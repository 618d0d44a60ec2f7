"""Create the call data of ERC-20 transfers, and decode signed transactions, without a network, database, or key.

The supported types are EIP-1559 (2), EIP-2930 (1), and legacy transactions with a chain ID (EIP-155). A transaction
without a chain ID is rejected, because it could be replayed on every chain.
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from config.core.ids import INT64_MAX
from payments.chain.addresses import chain_id_of, checksum_address

# The first four bytes of the hash of each ERC-20 function signature, and the full hash of the event signature.
TRANSFER_SELECTOR = "a9059cbb"
TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
BALANCE_OF_SELECTOR = "70a08231"
DECIMALS_SELECTOR = "313ce567"

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)", re.ASCII)
_EIP_2930, _EIP_1559 = 1, 2
# The number of items in the signed list, by type: EIP-2930, EIP-1559, and legacy.
_MEMBERS = {_EIP_2930: 11, _EIP_1559: 12, 0: 9}
_FIRST_LEGACY_BYTE = 0xC0  # an RLP list starts with this byte or a higher byte, a typed transaction with a lower byte
_UINT256_BYTES, _UINT256_MAX = 32, 2**256 - 1
_GAS_MAX = 2**64 - 1
_ADDRESS_BYTES = 20
# The order of the curve secp256k1. Only signatures with an `s` in the lower half are valid (EIP-2).
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class UnreadableTransaction(ValueError):
    """The payload is not a signed transaction of a supported type."""


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A signed transaction. `value` is in wei. `data` and `raw` are lower-case hex with 0x."""

    tx_hash: str
    chain_id: int
    sender: str
    nonce: int
    to: str
    value: int
    data: str
    raw: str


def transfer_call_data(to_address: str, amount: int) -> str:
    return f"0x{TRANSFER_SELECTOR}{to_address[2:].lower():0>64}{amount:064x}"


def balance_call_data(address: str) -> str:
    return f"0x{BALANCE_OF_SELECTOR}{address[2:].lower():0>64}"


def read_transfer(data: str) -> tuple[str, int] | None:
    """Return (recipient, amount) if `data` calls an ERC-20 transfer and contains nothing else, otherwise None."""
    if not re.fullmatch(rf"0x{TRANSFER_SELECTOR}0{{24}}[0-9a-f]{{104}}", data):
        return None
    return checksum_address(f"0x{data[34:74]}"), int(data[74:], 16)


def decode_signed(payload: str) -> SignedTransaction:
    """Decode a signed transaction from hex, with or without 0x. Raises UnreadableTransaction.

    The encoding must be canonical, because the node receives the same bytes.
    """
    match = _HEX.fullmatch(payload)
    if match is None:
        raise UnreadableTransaction("It must be hexadecimal.")
    raw = bytes.fromhex(match[1])
    kind = 0 if raw[0] >= _FIRST_LEGACY_BYTE else raw[0]
    if kind not in _MEMBERS or (kind == 0 and raw[0] == 0):
        raise UnreadableTransaction(f"Transactions of type {raw[0]} are not supported. Sign an EIP-1559 transaction.")
    members = _decode_list(raw if kind == 0 else raw[1:])
    if len(members) != _MEMBERS[kind]:
        raise UnreadableTransaction("It has the wrong number of fields.")
    return _read(raw, members, kind)


def _read(raw: bytes, members: list[Any], kind: int) -> SignedTransaction:
    """Decode the items of a transaction and recover the signer. Legacy transactions have the chain ID in `v`."""
    from eth_utils.crypto import keccak

    *signed, v, r, s = members
    is_legacy = kind == 0
    nonce, *fees, to, value, data = signed if is_legacy else signed[1:-1]  # skips the chain id and the access list
    # Canonical integers have at most 32 bytes, without leading zeros.
    for member in [nonce, *fees, value, v, r, s] if is_legacy else [signed[0], nonce, *fees, value, v, r, s]:
        if not isinstance(member, bytes) or len(member) > _UINT256_BYTES or member[:1] == b"\0":
            raise UnreadableTransaction("A number in it has an invalid encoding (RLP).")
    if is_legacy:
        chain_id, parity = divmod(_integer(v) - 35, 2)
        if chain_id < 1:
            raise UnreadableTransaction("It has no chain id (EIP-155).")
        encoded_chain = chain_id.to_bytes((chain_id.bit_length() + 7) // 8, "big")
        message = _encode_list([*signed, encoded_chain, b"", b""])
    else:
        chain_id, parity = _integer(signed[0]), _integer(v)
        message = bytes([kind]) + _encode_list(signed)
    if not isinstance(to, bytes) or len(to) != _ADDRESS_BYTES:
        raise UnreadableTransaction("It has no recipient address.")
    if not isinstance(data, bytes):
        raise UnreadableTransaction("Its data is not a byte string (RLP).")
    if _integer(nonce) > INT64_MAX:
        raise UnreadableTransaction("Its nonce is out of range (EIP-2681).")
    _check_fees(*map(_integer, fees), value=_integer(value))
    if not is_legacy:
        entries = signed[-1]
        if not isinstance(entries, list) or not all(map(_is_entry, entries)):
            raise UnreadableTransaction("Its access list has an invalid form (EIP-2930).")
    return SignedTransaction(
        tx_hash=f"0x{keccak(raw).hex()}",
        chain_id=chain_id,
        sender=_signer(keccak(message), (parity, _integer(r), _integer(s))),
        nonce=_integer(nonce),
        to=checksum_address(to),
        value=_integer(value),
        data=f"0x{data.hex()}",
        raw=f"0x{raw.hex()}",
    )


def _signer(digest: bytes, signature: tuple[int, int, int]) -> str:
    """Return the address of the signer.

    The digest is computed from the original bytes. A library that hashes the decoded transaction might encode it
    differently, and then accept a changed transaction.
    """
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    parity, r, s = signature
    if parity > 1 or not 0 < r < _ORDER or not 0 < s <= _ORDER // 2:
        raise UnreadableTransaction("Its signature is not in the valid form (EIP-2).")
    try:
        return str(Signature(vrs=signature).recover_public_key_from_msg_hash(digest).to_checksum_address())
    except (BadSignature, ValidationError) as error:
        raise UnreadableTransaction("Its signature is not valid.") from error


def _encode_list(members: list[Any]) -> bytes:
    import rlp

    return bytes(rlp.encode(members))


def _decode_list(encoded: bytes) -> list[Any]:
    import rlp
    from rlp.exceptions import RLPException

    try:
        members = rlp.decode(encoded, strict=True)
    except (RLPException, RecursionError) as error:
        raise UnreadableTransaction("It is not encoded as a transaction (RLP).") from error
    if not isinstance(members, list):
        raise UnreadableTransaction("It is not encoded as a list (RLP).")
    return members


def _check_fees(*prices_and_gas: int, value: int) -> None:
    """Reject fees that no block accepts. The arguments are (tip, maximum per gas, gas) or (price, gas)."""
    *prices, gas = prices_and_gas
    if gas > _GAS_MAX:
        raise UnreadableTransaction("Its gas limit is out of range.")
    if gas * prices[-1] + value > _UINT256_MAX:
        raise UnreadableTransaction("Its gas limit times its fee is out of range.")
    if prices[0] > prices[-1]:
        raise UnreadableTransaction("Its priority fee is above its maximum fee (EIP-1559).")


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], list):
        return False
    words = [(entry[0], _ADDRESS_BYTES), *((key, _UINT256_BYTES) for key in entry[1])]
    return all(isinstance(word, bytes) and len(word) == length for word, length in words)


def _integer(member: bytes) -> int:
    return int.from_bytes(member, "big")


def placeholder_transaction(payment_id: UUID, *, network: str, to_address: str) -> dict[str, Any]:
    """Return the transaction to sign if no chain is configured. It is not a transfer and moves no funds."""
    return {
        "to": to_address,
        "data": "0x" + f"simulated:{payment_id}".encode().hex(),
        "value": 0,
        "chain_id": chain_id_of(network),
        "nonce": 0,
        "gas": 21_000,
        "max_fee_per_gas": 0,
        "max_priority_fee_per_gas": 0,
    }


def simulated_hash(payment_id: UUID) -> str:
    """Return the hash for a simulated payment. No real transaction has this hash."""
    return "0x" + sha256(f"simulated:{payment_id}".encode()).hexdigest()
