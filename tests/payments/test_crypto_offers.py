"""Test the transaction of POST /v1/payments/crypto/initiate, and its rejections before the signature."""

import pytest

from payments.chain.addresses import checksum_address
from payments.crypto.models import CryptoPayment
from tests.api import assert_error
from tests.payments.conftest import TOKEN
from tests.payments.crypto_support import CHAIN_ID, NETWORK, confirm, initiate
from tests.payments.http_double import HANG_UP, HTML, Reply
from tests.payments.node_double import GWEI, METHOD_MISSING, REVERTED
from tests.payments.test_crypto_transactions import SIGNER_ACCOUNT, sign, to_hex
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS, connected

ZERO = "0x" + "0" * 40
KEYLESS_ADDRESSES = [
    ZERO, "0x" + "0" * 39 + "1", "0x" + "0" * 39 + "9", "0x" + "0" * 38 + "0a", "0x" + "0" * 37 + "100",
    "0x" + "0" * 36 + "dead", "0x" + "0" * 36 + "DEAD", checksum_address("0x" + "0" * 36 + "dead"),
    "0x" + "0" * 36 + "ffff", "0x" + "0" * 36 + "1234",
    # The addresses are from EIP-7528, EIP-4788, explorers (burn addresses), and the predeploys of the OP Stack.
    "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "0xfffffffffffffffffffffffffffffffffffffffe", "0x" + "f" * 40,
    "0xdead000000000000000042069420694206942069", "0x" + "dead" * 10, "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001",
    "0x4200000000000000000000000000000000000006", "0x4200000000000000000000000000000000000016",
    "0x42000000000000000000000000000000000007ff", "0x000000000000000000000000000000000000006e",
    "0x00000000000000000000000000000000000000ff",
    "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02", "0x00000000219ab540356cBB839Cbe05303d7705Fa",
]  # fmt: skip
# The addresses are from EIP-55, EIP-155, and the documentation of web3.py, ethers, and Foundry.
RECEIVERS = [
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    "0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77", "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "0x4200000000000000000000000000000000010000",
]  # fmt: skip


@pytest.fixture
def pay(api, user):
    """Return a function that initiates a payment from the same wallet and returns the response."""
    wallet = connected(user, network=NETWORK)
    return lambda **changes: initiate(api, user, wallet, **changes)


def test_crypto_recipient_address_without_a_private_key_is_rejected(pay):
    for address in KEYLESS_ADDRESSES:
        refusal = assert_error(pay(to_address=address), 400, "E1001")
        assert refusal["details"][0]["field"] == "to_address"
        assert "burn address" in refusal["message"]
    assert_error(pay(to_address=ADDRESS), 400, "E1001")  # This is the wallet of the payer.
    assert not CryptoPayment.objects.exists()


def test_crypto_address_with_a_private_key_can_receive_a_payment(pay):
    for address in RECEIVERS:
        answer = pay(to_address=address)
        assert (answer.status_code, answer.json().get("to_address")) == (200, checksum_address(address))


def test_transfer_to_the_payers_wallet_or_to_the_token_contract_is_rejected(api, user, pay, node):
    for address, why in ((ADDRESS, "another wallet"), (TOKEN, "contract of the token"), (ZERO, "burn address")):
        for spelling in (address, address.lower(), "0x" + address[2:].upper()):
            assert why in assert_error(pay(to_address=spelling), 400, "E1001")["message"]
    assert node.called_methods == []
    connected(user, OTHER_ADDRESS, network=NETWORK)
    assert pay(to_address=OTHER_ADDRESS).status_code == 200, "another wallet of the payer"


def failed(code, message, **members):
    return {"error": {"code": code, "message": message, **members}}


REVERTS = [
    REVERTED, failed(3, "execution reverted", data="0x08c379a0"), failed(-32015, "VM execution error."),
    failed(-32000, "execution reverted: Blacklistable: account is blacklisted"), {"error": {"code": 3}},
    failed(-32000, "gas required exceeds allowance (0)"), failed(3, "Pausable: paused\0\ud800"), failed(3, None),
    failed(-32000, "x" * 10_000), failed(3, ["execution reverted"]),
]  # fmt: skip


@pytest.mark.parametrize("method", ["eth_estimateGas", "eth_call"])
def test_token_transfer_that_would_revert_is_rejected(pay, node, method):
    for node.answers[method] in REVERTS:
        message = assert_error(pay(), 400, "E3017")["message"]
        assert message.startswith("The network reports that this transfer would fail: ")
        assert len(message) < 300
    assert not CryptoPayment.objects.exists()


def test_token_transfer_with_any_result_except_false_is_accepted(pay, node):
    node.answers["eth_call"] = "0x" + "0" * 64
    assert "declines" in assert_error(pay(), 400, "E3017")["message"]
    for node.answers["eth_call"] in ("0x", "0x" + "0" * 63 + "1", "0x1", None, {}, "x"):
        assert pay().status_code == 200


def test_rejected_token_transfer_can_be_retried_with_its_idempotency_key(api, user, node):
    wallet, key = connected(user, network=NETWORK), "0192b3c4-d5e6-7f80-9a1b-2c3d4e5f6a7b"
    body = {"user_id": str(user.pk), "wallet_id": str(wallet.pk), "to_address": OTHER_ADDRESS, "amount_usdc": 5}
    node.answers["eth_estimateGas"] = REVERTED
    assert_error(api.send("/payments/crypto/initiate", body, key=key), 400, "E3017")
    node.answers["eth_estimateGas"] = hex(50_000)
    assert api.send("/payments/crypto/initiate", body, key=key).status_code == 200


def test_transaction_that_no_block_can_include_is_rejected_before_sending(api, user, node):
    wallet = connected(user, SIGNER_ACCOUNT.address, network=NETWORK)
    payment = initiate(api, user, wallet).json()
    content = {
        "type": 2, "to": TOKEN, "data": payment["transaction"]["data"], "value": 0, "chainId": CHAIN_ID, "nonce": 7,
        "gas": 65_000, "maxFeePerGas": 21 * GWEI, "maxPriorityFeePerGas": GWEI,
    }  # fmt: skip
    for changes, why in (
        ({"maxPriorityFeePerGas": 22 * GWEI}, "priority fee is above"), ({"maxFeePerGas": 0}, "priority fee is above"),
        ({"gas": 2**64}, "gas limit is out of range"), ({"gas": 2, "maxFeePerGas": 2**256 - 1}, "out of range"),
        ({"gas": 2**64 - 1, "maxFeePerGas": 2**200}, "out of range"),
        ({"gas": 1, "maxFeePerGas": 2**256 - 1, "value": 1}, "out of range"),
    ):  # fmt: skip
        response = confirm(api, payment["payment_id"], to_hex(sign({**content, **changes}).raw_transaction))
        assert why in assert_error(response, 400, "E3007")["message"]
    assert "eth_sendRawTransaction" not in node.called_methods
    good = sign(content)
    node.answers["eth_sendRawTransaction"] = to_hex(good.hash)
    assert confirm(api, payment["payment_id"], to_hex(good.raw_transaction)).json()["tx_hash"] == to_hex(good.hash)


def fees(response):
    """Return (maximum fee per gas, tip) of the transaction to sign."""
    assert response.status_code == 200, response.content
    transaction = response.json()["transaction"]
    return transaction["max_fee_per_gas"], transaction["max_priority_fee_per_gas"]


MISSING = [
    METHOD_MISSING, {"error": {"code": -32004, "message": "method not supported"}},
    {"error": {"code": -32000, "message": "the method is not available"}}, Reply(status=404, content={}),
    Reply(status=405, content={}), HTML, None, {}, [], "1", "0x", "0x01", 5, hex(2**256 - 1), hex(2**63),
]  # fmt: skip


def test_priority_fee_is_computed_from_the_latest_blocks_if_the_node_suggests_no_fee(pay, node):
    for node.answers["eth_maxPriorityFeePerGas"] in MISSING:
        assert fees(pay()) == (23 * GWEI, 3 * GWEI)


def test_priority_fee_is_gas_price_minus_base_fee_if_the_node_returns_no_fee_history(pay, node):
    node.answers["eth_maxPriorityFeePerGas"] = METHOD_MISSING
    for node.answers["eth_feeHistory"] in (
        *MISSING, {"reward": None}, {"reward": []}, {"reward": [[]]}, {"reward": [None]}, {"reward": [["x"]]},
        {"reward": {"0": ["0x1"]}}, {"reward": [[hex(2**256 - 1)]]}, {"baseFeePerGas": ["0x1"]}, {"reward": [[1]]},
    ):  # fmt: skip
        assert fees(pay()) == (22 * GWEI, 2 * GWEI)
    node.answers["eth_gasPrice"] = hex(GWEI)
    assert fees(pay()) == (20 * GWEI, 0), "the gas price is below the base fee"


def test_fee_history_and_gas_price_are_not_read_if_the_node_suggests_a_priority_fee(pay, node):
    assert fees(pay()) == (21 * GWEI, GWEI)
    assert {"eth_feeHistory", "eth_gasPrice"}.isdisjoint(node.called_methods)


def test_payment_returns_502_if_the_node_returns_no_priority_fee_no_fee_history_or_no_gas_price(pay, node):
    for missing in (METHOD_MISSING, HANG_UP, Reply(status=503, content={})):
        node.answers |= dict.fromkeys(("eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_gasPrice"), missing)
        assert_error(pay(), 502, "E5003")


def test_payment_returns_502_if_a_number_returned_by_the_node_is_out_of_bounds(pay, node):
    for base_fee in (hex(2**62), hex(2**256 - 1), "x", 5, {}, [], ""):
        node.answers["eth_getBlockByNumber"] = {"baseFeePerGas": base_fee}
        assert_error(pay(), 502, "E5003")
    node.answers["eth_getBlockByNumber"] = {"number": "0x1"}
    for method in ("eth_getTransactionCount", "eth_estimateGas", "eth_gasPrice"):
        valid = node.answers[method]
        for node.answers[method] in (hex(2**63 - 1), hex(2**64), hex(2**256 - 1), "0x" + "f" * 65, "-0x1", 2**70):
            assert_error(pay(), 502, "E5003")
        node.answers[method] = valid


def test_crypto_transaction_with_the_largest_accepted_numbers_can_be_sent(pay, node):
    largest = hex((2**63 - 1) // 4)
    node.answers |= {"eth_getBlockByNumber": {"baseFeePerGas": largest}, "eth_maxPriorityFeePerGas": largest}
    node.answers |= {"eth_estimateGas": largest, "eth_getTransactionCount": largest}
    highest, tip = fees(pay())
    assert tip < highest < 2**63
