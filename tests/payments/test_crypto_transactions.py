"""Compare decoded transactions and encoded call data with eth-account."""

import pytest
import rlp
from eth_account import Account
from eth_keys import keys
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from payments.chain.addresses import chain_id_of, parse_address, parse_network, parse_transaction_hash
from payments.chain.transactions import (
    TRANSFER_TOPIC,
    UnreadableTransaction,
    decode_signed,
    read_transfer,
    transfer_call_data,
)
from tests.properties import examples

SIGNER_ACCOUNT = Account.from_key("0x" + "11" * 32)
TOKEN = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
RECIPIENT = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
DATA = transfer_call_data(RECIPIENT, 1_500_000)
PLAIN = {"to": TOKEN, "data": DATA, "value": 0, "nonce": 7, "gas": 65_000, "chainId": 8453}
DYNAMIC = {**PLAIN, "type": 2, "maxFeePerGas": 10**9, "maxPriorityFeePerGas": 10**6}
WITH_LIST = {
    **PLAIN, "type": 1, "gasPrice": 10**9, "accessList": [{"address": TOKEN, "storageKeys": ["0x" + "01" * 32]}],
}  # fmt: skip
LEGACY = {**PLAIN, "gasPrice": 10**9}
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def sign(content):
    return SIGNER_ACCOUNT.sign_transaction(content)


# The transactions are signed once, because signing without a C library is slow.
SIGNED = [bytes(sign(content).raw_transaction) for content in (DYNAMIC, WITH_LIST, LEGACY)]


def to_hex(raw):
    return "0x" + bytes(raw).hex()


@pytest.mark.parametrize("content", [DYNAMIC, WITH_LIST, LEGACY, {**DYNAMIC, "accessList": WITH_LIST["accessList"]}])
def test_decoded_transaction_has_the_signed_values_for_every_supported_type(content):
    signed = sign(content)
    read = decode_signed(to_hex(signed.raw_transaction))
    assert read.tx_hash == to_hex(signed.hash)
    assert (read.sender, read.to, read.chain_id) == (SIGNER_ACCOUNT.address, TOKEN, 8453)
    assert (read.nonce, read.value, read.data) == (7, 0, DATA)
    assert read.raw == to_hex(signed.raw_transaction)


def test_transaction_hex_is_accepted_without_prefix_and_in_any_case():
    for spell in (lambda text: text[2:], str.upper, lambda text: text):
        text = to_hex(sign(DYNAMIC).raw_transaction)
        spelling = "0x" + spell(text)[2:] if spell is str.upper else spell(text)
        assert decode_signed(spelling).sender == SIGNER_ACCOUNT.address


def test_unknown_crypto_transaction_type_is_rejected():
    for content, why in (
        ({**LEGACY, "chainId": None}, "has no chain id"),
        ({**DYNAMIC, "to": b""}, "no recipient address"),
        ({**DYNAMIC, "nonce": 2**63}, "nonce is out of range"),
    ):  # fmt: skip
        signed = sign({name: value for name, value in content.items() if value is not None})
        with pytest.raises(UnreadableTransaction, match=why):
            decode_signed(to_hex(signed.raw_transaction))


def test_invalid_crypto_transaction_is_rejected():
    for payload in (
        "", "0x", "0x1", "xyz", "0x00", "0x01", "0x02", "0x03c0", "0x04c0", "0x02c0", "0xc0", "0x7f", "0x80",
        "0xdeadbeef", "0x02f8", "0x" + "ff" * 500, "0xc1c0", "0x 02", "02\n", "0x02" + "c1" * 900,
    ):  # fmt: skip
        with pytest.raises(UnreadableTransaction):
            decode_signed(payload)


@pytest.mark.parametrize("content", [DYNAMIC, WITH_LIST, LEGACY])
@pytest.mark.parametrize("change", ["one byte more", "one byte less", "a member more", "a member less", "nested"])
def test_noncanonical_transaction_encoding_is_rejected(content, change):
    raw = bytes(sign(content).raw_transaction)
    prefix, body = (raw[:1], raw[1:]) if raw[0] < 0x7F else (b"", raw)
    members = rlp.decode(body)
    changed = {
        "one byte more": prefix + body + b"\0", "one byte less": prefix + body[:-1],
        "a member more": prefix + rlp.encode([*members, b"\1"]), "a member less": prefix + rlp.encode(members[:-1]),
        "nested": prefix + rlp.encode([members[0], [members[1]], *members[2:]]),
    }[change]  # fmt: skip
    with pytest.raises(UnreadableTransaction):
        decode_signed(to_hex(changed))


def test_a_transaction_with_leading_zeros_in_a_number_is_rejected():
    for position in range(5):
        raw = bytes(sign(DYNAMIC).raw_transaction)
        members = rlp.decode(raw[1:])
        members[position] = b"\0" + members[position]
        with pytest.raises(UnreadableTransaction, match="invalid encoding"):
            decode_signed(to_hex(raw[:1] + rlp.encode(members)))


def test_malleated_transaction_signature_is_rejected():
    """The malleated signature can be derived without a key, and changes the hash of the transaction."""
    raw = bytes(sign(DYNAMIC).raw_transaction)
    *content, parity, r, s = rlp.decode(raw[1:])
    other = ORDER - int.from_bytes(s, "big")
    assert other > HALF_ORDER
    flipped = b"" if parity else b"\1"
    malleated = raw[:1] + rlp.encode([*content, flipped, r, other.to_bytes(32, "big")])
    with pytest.raises(UnreadableTransaction, match="EIP-2"):
        decode_signed(to_hex(malleated))


def resigned(kind, members):
    """Sign changed fields of a typed transaction, which no library would sign; return hex."""
    message = bytes([kind]) + rlp.encode(members)
    signature = keys.PrivateKey(b"\x11" * 32).sign_msg_hash(keccak(message))
    v, r, s = signature.vrs
    return to_hex(bytes([kind]) + rlp.encode([*members, v, r, s]))


def members_of(raw):
    """Return the signed fields of a typed transaction."""
    return rlp.decode(raw[1:])[:-3]


OWN, KEY_WORD = bytes.fromhex(TOKEN[2:]), b"\1" * 32


@pytest.mark.parametrize("signed", [SIGNED[0], SIGNED[1]])
def test_malformed_transaction_access_list_is_rejected(signed):
    *members, _ = members_of(signed)
    for entries in (
        b"", b"x", OWN, [OWN], [[]], [[OWN]], [[OWN, b""]], [[OWN, KEY_WORD]], [[OWN, [KEY_WORD], b""]],
        [[OWN[1:], []]], [[OWN + b"\0", []]], [[b"", []]], [[[], []]], [[OWN, [KEY_WORD[1:]]]],
        [[OWN, [KEY_WORD + b"\0"]]], [[OWN, [b""]]], [[OWN, [[KEY_WORD]]]], [[OWN, []], OWN], [[OWN, []], []],
        [[[OWN, []]]],
    ):  # fmt: skip
        with pytest.raises(UnreadableTransaction, match="EIP-2930"):
            decode_signed(resigned(signed[0], [*members, entries]))


# The lists are the example of EIP-2930, and the slots of proxies (EIP-1967, EIP-1822) and beacon roots (EIP-4788).
EXAMPLE = [bytes.fromhex("de0b295669a9fd93d5f28d9ec85e40f4cb697bae"), [bytes(31) + b"\3", bytes(31) + b"\7"]]
SLOTS = [
    bytes.fromhex(word) for word in (
        "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc",
        "a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50",
        "b53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103",
        "c5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7",
    )
]  # fmt: skip


def test_valid_transaction_access_list_is_parsed():
    for entries in (
        [], [[OWN, []]], [[OWN, [KEY_WORD]]], [[OWN, []], [OWN, []]], [[OWN, [KEY_WORD, KEY_WORD]]], [EXAMPLE],
        [EXAMPLE, [bytes.fromhex("bb9bc244d798123fde783fcc1c72d3bb8c189413"), []]], [[OWN, SLOTS]], [[OWN, [SLOTS[0]]]],
        [[OWN, [word]] for word in SLOTS], [[bytes(20), []]], [[bytes(20), [bytes(32)]]],
        [[b"\xff" * 20, [b"\xff" * 32]]],
        [[bytes(19) + bytes([number]), []] for number in range(1, 10)], [EXAMPLE] * 20, [[OWN, SLOTS * 20]],
    ):  # fmt: skip
        *members, _ = members_of(SIGNED[0])
        assert decode_signed(resigned(2, [*members, entries])).sender == SIGNER_ACCOUNT.address


@pytest.mark.parametrize(
    ("fees", "why"),
    [
        ((2, 1, 65_000), "priority fee is above"),
        ((10**9 + 1, 10**9, 65_000), "priority fee is above"),
        ((1, 0, 65_000), "priority fee is above"),
        ((2**256 - 1, 10**9, 65_000), "priority fee is above"),
        ((10**9, 10**9, 2**64), "gas limit is out of range"),
        ((10**9, 10**9, 2**256 - 1), "gas limit is out of range"),
        ((0, 0, 2**64), "gas limit is out of range"),
        ((1, 2**256 - 1, 2), "times its fee"),
        ((1, 2**240, 2**17), "times its fee"),
        ((1, 2**192, 2**64 - 1), None),
        ((1, 2**193, 2**64 - 1), "times its fee"),
        ((1, 2**256 - 1, 1), None),
        ((5, 5, 21_000), None),
        ((0, 0, 0), None),
    ],
)  # fmt: skip
def test_transaction_with_fees_that_no_block_accepts_is_rejected(fees, why):
    chain, nonce, *_, to, value, data, entries = members_of(SIGNED[0])
    payload = resigned(2, [chain, nonce, *fees, to, value, data, entries])
    if why is None:
        assert decode_signed(payload).sender == SIGNER_ACCOUNT.address
        return
    with pytest.raises(UnreadableTransaction, match=why):
        decode_signed(payload)


def test_a_transaction_with_an_overflowing_price_is_rejected():
    for price, gas in ((2**256 - 1, 2), (2**193, 2**64 - 1), (1, 2**64), (2**255, 2)):
        for content in (LEGACY, WITH_LIST):
            signed = sign({**content, "gasPrice": price, "gas": gas})
            with pytest.raises(UnreadableTransaction, match="out of range"):
                decode_signed(to_hex(signed.raw_transaction))


def test_transaction_whose_value_and_fees_together_overflow_is_rejected():
    content = {**DYNAMIC, "gas": 1, "maxFeePerGas": 2**256 - 2, "value": 1}
    assert decode_signed(to_hex(sign(content).raw_transaction)).value == 1
    with pytest.raises(UnreadableTransaction, match="out of range"):
        decode_signed(to_hex(sign({**content, "value": 2}).raw_transaction))


def test_every_byte_of_an_access_list_affects_the_recovered_sender():
    """eth-account accepts this change: it rewrites the list before it checks the signature."""
    raw = bytearray(bytes(sign(WITH_LIST).raw_transaction))
    raw[165] ^= 163
    try:
        sender = decode_signed(to_hex(raw)).sender
    except UnreadableTransaction:
        return
    assert sender != SIGNER_ACCOUNT.address


@examples(130)
@given(st.data())
def test_transaction_with_a_changed_byte_has_another_sender_or_is_rejected(data):
    """A changed transaction decodes to another sender or raises UnreadableTransaction, and no other error."""
    raw = bytearray(data.draw(st.sampled_from(SIGNED)))
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= data.draw(st.integers(1, 255))
    try:
        read = decode_signed(to_hex(raw))
    except UnreadableTransaction:
        return
    assert read.sender != SIGNER_ACCOUNT.address


@examples(100)
@given(st.binary(max_size=300))
def test_transaction_parser_raises_only_unreadable_transaction_for_any_bytes(payload):
    with pytest.raises(UnreadableTransaction):
        decode_signed(to_hex(payload))


def test_transfer_call_data_matches_the_erc_20_standard():
    assert transfer_call_data("0x" + "ab" * 20, 255) == "0xa9059cbb" + "00" * 12 + "ab" * 20 + "00" * 31 + "ff"
    assert "0x" + keccak(text="Transfer(address,address,uint256)").hex() == TRANSFER_TOPIC
    assert keccak(text="transfer(address,uint256)").hex()[:8] == DATA[2:10]


@given(st.integers(0, 2**63 - 1), st.binary(min_size=20, max_size=20))
def test_encoded_transfer_call_data_decodes_to_the_same_transfer(amount, address):
    spelling = parse_address(to_hex(address))
    assert read_transfer(transfer_call_data(spelling, amount)) == (spelling, amount)


def test_other_call_data_is_not_decoded_as_a_transfer():
    for data in ("0x", DATA + "00", DATA[:-2], DATA.replace("a9059cbb", "23b872dd"), DATA[:10] + "01" + DATA[12:]):
        assert read_transfer(data) is None


def test_wallet_addresses_are_normalized_to_their_eip_55_checksum():
    for address in (
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
    ):  # fmt: skip
        assert parse_address(address) == address
        assert parse_address(address.lower()) == address
        assert parse_address("0x" + address[2:].upper()) == address
        swapped = "0x" + address[2:].swapcase()
        assert parse_address(swapped) in {None, address}
        if address[2:] not in {address[2:].lower(), address[2:].upper()}:
            assert parse_address(swapped) is None


def test_network_that_is_not_an_evm_network_is_rejected():
    for text in ("eip155:0", "eip155:01", "eip155:x", "solana:x", "", "eip155:1 ", "8453", "EIP155:1"):
        assert parse_network(text) is None
        with pytest.raises(ValueError, match="not an EVM network"):
            chain_id_of(text)


def test_malformed_transaction_hash_is_rejected_by_the_parser():
    for text in ("0x" + "a" * 63, "0x" + "a" * 65, "a" * 64, "0x" + "g" * 64, "0x" + "\uff11" * 64):
        assert parse_transaction_hash(text) is None
