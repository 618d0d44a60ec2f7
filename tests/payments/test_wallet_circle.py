"""Test over HTTP that the custody vendor Circle creates one account per request despite faulty responses."""

import base64

import pytest

from payments.wallets.models import CustodyAccount, Wallet
from tests.api import assert_error
from tests.payments.circle_double import API_KEY, ENTITY_SECRET, UUID4, CircleDouble, coin
from tests.payments.http_double import HTML, Reply
from tests.payments.wallet_support import custodial

PATH = "/wallet/connect/circle"
MAKE = "/v1/w3s/developer/wallets"


@pytest.fixture
def circle(settings):
    """Yield a double of Circle, as configured; the wallet set is created when it is needed."""
    with CircleDouble() as double:
        settings.CUSTODY = "circle"
        settings.CIRCLE_BASE_URL = double.url
        settings.CIRCLE_API_KEY = API_KEY
        settings.CIRCLE_ENTITY_SECRET = ""
        settings.CIRCLE_WALLET_SET_ID = ""
        yield double


def wallet_requests(circle):
    """Return the requests that created wallets."""
    return [request.body for request in circle.received if (request.method, request.path) == ("POST", MAKE)]


def test_circle_wallet_is_provisioned_with_a_reference_without_pii(api, user, circle):
    body = api.send(PATH, {"label": "Jane's savings", "network": "base-sepolia"}).json()
    (wallet,) = circle.wallets.values()
    assert body["address"].lower() == wallet["address"]
    assert body["network"] == "eip155:84532"
    account = CustodyAccount.objects.get()
    assert (account.provider, account.provider_account_id) == ("circle", wallet["id"])
    (sent,) = wallet_requests(circle)
    assert sent == {
        "idempotencyKey": str(account.idempotency_key), "accountType": "EOA", "blockchains": ["BASE-SEPOLIA"],
        "count": 1, "walletSetId": wallet["walletSetId"], "metadata": [{"refId": str(account.pk)}],
    }  # fmt: skip
    assert UUID4.fullmatch(sent["idempotencyKey"])
    assert not any("Jane" in str(request.body) for request in circle.received)


def test_all_circle_wallets_are_in_the_same_or_the_configured_wallet_set(api, stranger_api, circle, settings):
    api.send(PATH, {})
    stranger_api.send(PATH, {})
    assert len(circle.wallets) == 2
    assert len(circle.wallet_sets) == 1
    circle.wallet_sets["ours"] = {"id": "ours"}
    settings.CIRCLE_WALLET_SET_ID = "ours"
    assert api.send(PATH, {"label": "in the configured set"}).status_code == 200
    assert len(circle.wallet_sets) == 2


def test_circle_entity_secret_is_encrypted_separately_for_every_request(api, circle, settings):
    circle.requires_secret = True
    assert_error(api.send(PATH, {}), 502, "E5003")
    settings.CIRCLE_ENTITY_SECRET = ENTITY_SECRET
    assert api.send(PATH, {}).status_code == 200
    assert api.send(PATH, {"label": "second"}).status_code == 200
    assert len(circle.ciphertexts) == 4  # The requests are for two wallets and their wallet sets.
    plain = {ENTITY_SECRET, base64.b64encode(bytes.fromhex(ENTITY_SECRET)).decode()}
    assert not any(secret in str(request) for request in circle.received for secret in plain)


@pytest.mark.parametrize("remembers_keys", [True, False])
@pytest.mark.parametrize("fault", ["before", "after"])
def test_retry_after_a_lost_circle_response_provisions_one_wallet(api, circle, fault, remembers_keys):
    circle.remembers_keys = remembers_keys
    circle.wallet_sets["ours"] = {"id": "ours"}
    circle.faults[MAKE] = fault
    assert_error(api.send(PATH, {}), 502, "E5003")
    assert not Wallet.objects.exists()
    circle.faults.clear()
    response = api.send(PATH, {})
    assert response.status_code == 200
    (wallet,) = circle.wallets.values()
    assert response.json()["address"].lower() == wallet["address"]
    assert api.send(PATH, {}).json() == response.json()
    assert len({body["idempotencyKey"] for body in wallet_requests(circle)}) == 1


def wallets_reply(wallets):
    return Reply(status=201, content={"data": {"wallets": wallets}})


LONG = "0x" + "1" * 40


def test_invalid_circle_response_creates_no_wallet_and_a_retry_succeeds(api, circle):
    for fault in (
        HTML, Reply(status=500, content={"code": -1, "message": "x"}),
        Reply(status=429, content={"code": 429, "message": "slow down"}),
        Reply(status=302, content={}, headers={"Location": "http://127.0.0.1:9/"}),
        Reply(status=201, content=[]), Reply(status=201, content={"data": []}),
        wallets_reply("x"), wallets_reply([]), wallets_reply(["x"]),
        wallets_reply([{"id": "x", "address": "0x12", "blockchain": "BASE"}]),
        wallets_reply([{"id": 5, "address": LONG, "blockchain": "BASE"}]),
        wallets_reply([{"id": "x", "address": LONG, "blockchain": "ETH"}]),
    ):  # fmt: skip
        circle.faults[MAKE] = fault
        assert_error(api.send(PATH, {}), 502, "E5003")
        assert not Wallet.objects.exists()
    circle.faults.clear()
    assert api.send(PATH, {}).status_code == 200
    assert CustodyAccount.objects.count() == 1


def test_error_about_a_circle_key_that_circle_rejects_does_not_contain_the_key(api, circle, settings, caplog):
    settings.CIRCLE_API_KEY = "TEST_API_KEY:wrong:very-secret"
    body = assert_error(api.send(PATH, {}), 502, "E5003")
    assert "very-secret" not in str(body) + caplog.text
    assert "401" in caplog.text  # The log shows the operator that Circle rejected the key.


def test_unsupported_circle_network_is_rejected_without_a_request_to_circle(api, circle):
    body = assert_error(api.send(PATH, {"network": "eip155:31337"}), 400, "E1001")
    assert body["details"][0]["field"] == "network"
    assert not circle.received
    assert not CustodyAccount.objects.exists()


def test_the_balance_of_a_custodial_wallet_is_read_from_circle(api, user, circle):
    wallet = custodial(user)
    for entries, amount, units in (
        ([], "0", 0), ([coin("6.62")], "6.62", 6_620_000),
        ([coin("1.5", symbol="ETH", decimals=18), coin("0.000001")], "0.000001", 1), ([coin("12")], "12", 12_000_000),
        ([coin("1", decimals=18)], "1", 10**18), ([coin("1.10000000")], "1.1", 1_100_000),
        ([coin("123456789012345678901234567890.123456")], "123456789012345678901234567890.123456", None),
    ):  # fmt: skip
        circle.balances[wallet.custody_account.provider_account_id] = entries
        body = api.read(f"/wallet/balance/{wallet.pk}").json()
        assert (body["source"], body["asset"]) == ("circle", "USDC")
        assert (body["amount"], body["amount_usdc"]) == (amount, units)


def test_invalid_balance_or_outage_of_circle_returns_502(api, user, circle):
    wallet = custodial(user)
    for entry in (
        coin("0.0000001"), coin("-1"), coin("NaN"), coin("Infinity"), coin("x"), coin(None), coin("1", decimals="6"),
        coin("1", decimals=-1), coin("1", decimals=400), coin("1", decimals=True), coin("1e999999999"),
    ):  # fmt: skip
        circle.balances[wallet.custody_account.provider_account_id] = [entry]
        assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")
    circle.balances.clear()
    circle.faults["/v1/w3s/wallets/"] = "before"
    assert_error(api.read(f"/wallet/balance/{wallet.pk}"), 502, "E5003")
    count = len(circle.received)
    assert api.remove(f"/wallet/disconnect/{wallet.pk}").status_code == 200
    assert len(circle.received) == count, "nothing is sent to Circle"


def test_sandbox_wallet_remains_a_sandbox_wallet_after_custody_changes_to_circle(api, user, settings, circle):
    settings.CUSTODY = "sandbox"
    wallet = custodial(user)
    settings.CUSTODY = "circle"
    assert api.read(f"/wallet/balance/{wallet.pk}").json()["source"] == "sandbox"
    assert not circle.received
