"""GET /v1/wallet/balance/{wallet_id} on a chain. test_wallet_circle.py tests balances from Circle."""

from tests.api import assert_error
from tests.payments.http_double import HTML, Reply, unused_address
from tests.payments.wallet_support import connected


def test_the_balance_of_a_wallet_is_read_from_its_chain(api, user, evm, node):
    payer = evm.new_payer(12_345_678)
    wallet = connected(user, payer.address, network="eip155:31337")
    body = api.read(f"/wallet/balance/{wallet.pk}").json()
    assert (body["source"], body["amount"], body["decimals"]) == ("chain", "12.345678", 6)
    assert body["amount_usdc"] == 12_345_678


def test_the_balance_of_a_wallet_on_another_network_is_unavailable(api, user, node):
    wallet = connected(user, network="eip155:1")
    body = api.read(f"/wallet/balance/{wallet.pk}").json()
    assert (body["source"], body["amount"], body["amount_usdc"]) == ("unavailable", None, None)
    assert not node.received


def test_a_balance_request_returns_502_if_the_node_returns_no_valid_response(api, user, node, settings):
    wallet = connected(user, network="eip155:31337")
    for fault in (
        "before",
        HTML,
        Reply(status=500, content={}),
        Reply(status=302, content={}, headers={"Location": "http://127.0.0.1:9/"}),
        Reply(content={"jsonrpc": "2.0", "id": 99, "result": "0x" + "0" * 64}),
        Reply(content=[]),
        {"result": "0x"},
        {"error": {"code": -32000, "message": "no"}},
        {"error": "no"},
    ):
        node.faults["eth_call"] = fault
        assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")


def test_a_balance_request_returns_502_if_the_node_serves_another_chain(api, user, node):
    wallet = connected(user, network="eip155:31337")
    node.faults["eth_chainId"] = {"result": "0x1"}
    assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")
    assert node.calls("eth_call") == 0
