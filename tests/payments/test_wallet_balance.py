"""GET /v1/wallet/balance/{wallet_id}; Circle's balances stand in test_wallet_circle.py."""

import pytest

from payments.wallets.services import WalletBalance
from tests.api import assert_error
from tests.payments.http_double import HTML, Reply, unused_address
from tests.payments.wallet_support import connected, custodial


def test_without_a_chain_the_balance_is_simulated_and_says_so(api, user):
    wallet = connected(user)
    body = api.read(f"/wallet/balance/{wallet.pk}").json()
    assert body == {
        "wallet_id": str(wallet.pk),
        "asset": "USDC",
        "amount": "0",
        "decimals": 6,
        "amount_usdc": 0,
        "as_of": body["as_of"],
        "source": "simulated",
    }


def test_the_sandbox_answers_for_its_wallets(api, user):
    body = api.read(f"/wallet/balance/{custodial(user).pk}").json()
    assert (body["source"], body["amount_usdc"]) == ("sandbox", 0)


def test_the_chain_answers_for_a_wallet_on_it(api, user, evm, node):
    payer = evm.new_payer(12_345_678)
    wallet = connected(user, payer.address, network="eip155:31337")
    body = api.read(f"/wallet/balance/{wallet.pk}").json()
    assert (body["source"], body["amount"], body["decimals"]) == ("chain", "12.345678", 6)
    assert body["amount_usdc"] == 12_345_678


def test_a_wallet_on_a_network_that_is_not_read_has_no_balance_rather_than_an_invented_one(api, user, node):
    wallet = connected(user, network="eip155:1")
    body = api.read(f"/wallet/balance/{wallet.pk}").json()
    assert (body["source"], body["amount"], body["amount_usdc"]) == ("unavailable", None, None)
    assert not node.received


@pytest.mark.parametrize(
    "fault",
    [
        "before",
        HTML,
        Reply(status=500, content={}),
        Reply(status=302, content={}, headers={"Location": "http://127.0.0.1:9/"}),
        Reply(content={"jsonrpc": "2.0", "id": 99, "result": "0x" + "0" * 64}),
        Reply(content=[]),
        {"result": "0x"},
        {"error": {"code": -32000, "message": "no"}},
        {"error": "no"},
    ],
)
def test_a_node_without_a_usable_answer_is_a_provider_that_cannot_be_used(api, user, node, fault):
    wallet = connected(user, network="eip155:31337")
    node.faults["eth_call"] = fault
    assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")


def test_a_node_that_is_down_is_a_provider_that_cannot_be_used(api, user, node, settings):
    wallet = connected(user, network="eip155:31337")
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")


def test_a_node_of_another_chain_is_not_believed(api, user, node):
    wallet = connected(user, network="eip155:31337")
    node.faults["eth_chainId"] = {"result": "0x1"}
    assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")
    assert node.calls("eth_call") == 0


@pytest.mark.parametrize(
    ("units", "decimals", "amount", "amount_usdc"),
    [
        (0, 6, "0", 0),
        (1, 6, "0.000001", 1),
        (1_500_000, 6, "1.5", 1_500_000),
        (10_000_000, 6, "10", 10_000_000),
        (7, 0, "7", 7),
        (2**63 - 1, 6, "9223372036854.775807", 2**63 - 1),
        (2**63, 6, "9223372036854.775808", None),
        (None, 6, None, None),
    ],
)
def test_amounts_are_exact_in_both_forms(units, decimals, amount, amount_usdc):
    balance = WalletBalance(units=units, decimals=decimals, source="chain")
    assert (balance.amount, balance.amount_usdc) == (amount, amount_usdc)


def test_another_persons_wallet_is_not_there(api, stranger):
    assert_error(api.read(f"/wallet/balance/{connected(stranger).pk}"), 404, "E4006")


def test_a_disconnected_wallet_is_not_there(api, user):
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 404, "E4006")


def test_a_key_with_the_scope_may_read(scoped_api, user):
    assert scoped_api.read(f"/wallet/balance/{connected(user).pk}").status_code == 200


def test_it_needs_a_credential(anonymous, user):
    assert_error(anonymous.read(f"/wallet/balance/{connected(user).pk}"), 401, "E2001")
