"""Test that the Plaid adapter's requests match Plaid's description, and that each failure raises a platform error."""

import json
import logging
from dataclasses import replace

import pytest
from openapi_core.exceptions import OpenAPIError

from config.clients.provider import ProviderUnavailable
from identity.providers.base import LoginRequired, Progress, TokenRefused
from identity.providers.choice import open_banking
from tests.identity.plaid_double import SECRET, DoubleItem, Exchange, Fault, account, booking, plaid_error


def link(double, item, public_token="public-double-1"):
    double.offer(public_token, item)
    return open_banking().exchange_public_token(public_token)


def begin():
    return open_banking().create_verification(client_user_id="42-a", template_id="idvtmp_1", redirect_uri=None)


def test_every_request_and_response_matches_the_openapi_description_of_plaid(plaid, judge):
    provider = open_banking()
    provider.create_link_token(user_id="42")
    item = DoubleItem("item-1", [account(1)], [("added", booking(1)), ("removed", {
        "transaction_id": "transaction-1", "account_id": "item-account-1"})])  # fmt: skip
    token = link(plaid, item).access_token
    provider.list_accounts(token)
    assert provider.list_transactions(token) == []
    provider.create_link_token(user_id="42", access_token=token)
    state = begin()
    provider.read_verification(state.reference)
    for _ in range(2):  # Removing an item again succeeds.
        provider.remove_item(token)
    assert judge.judge(plaid.exchanges) == len(plaid.exchanges) == 9
    assert {exchange.path for exchange in plaid.exchanges} == {
        "/link/token/create", "/item/public_token/exchange", "/accounts/get", "/transactions/sync",
        "/identity_verification/create", "/identity_verification/get", "/item/remove",
    }  # fmt: skip


def test_plaid_validator_rejects_invalid_requests_and_responses(plaid, judge):
    begin()
    sent = plaid.exchanges[0]
    judge.judge([sent])
    without = {name: value for name, value in sent.headers.items() if name != "PLAID-SECRET"}
    wrong = {"template_id": "t", "is_shareable": "yes", "gave_consent": False}
    for bent in (
        replace(sent, headers=without), replace(sent, path="/identity_verification/creat"),
        replace(sent, answer=sent.answer.replace(b'"active"', b'"asleep"')),
        Exchange(sent.path, sent.headers, json.dumps(wrong).encode()),
    ):  # fmt: skip
        with pytest.raises(OpenAPIError):
            judge.judge([bent])


def test_plaid_amounts_are_converted_to_exact_cents(plaid):
    values = [
        (0.29, 29), (1.005, 101), (1.004999999, 100), (23631.9805, 2363198), (-4.22, -422),
        (90_000_000_000_000.25, 9_000_000_000_000_025),
    ]  # fmt: skip
    item = DoubleItem("item-1", [account(n, current=value, available=None) for n, (value, _) in enumerate(values)])
    result = open_banking().list_accounts(link(plaid, item).access_token)
    assert [entry["current_cents"] for entry in result] == [cents for _, cents in values]
    assert {entry["available_cents"] for entry in result} == {None}


def test_plaid_transaction_feed_of_several_pages_is_read_completely(plaid, judge, monkeypatch):
    monkeypatch.setattr("identity.providers.plaid.TRANSACTIONS_PER_PAGE", 2)
    feed = [("added", booking(number)) for number in range(5)]
    feed += [
        ("modified", booking(1, amount=-99.99)),
        ("removed", {"transaction_id": "transaction-2", "account_id": "x"}),
    ]
    result = open_banking().list_transactions(link(plaid, DoubleItem("item-1", [account(1)], feed)).access_token)
    assert {transaction["transaction_id"]: transaction["amount_cents"] for transaction in result} == {
        "transaction-0": 1234, "transaction-1": -9999, "transaction-3": 1234, "transaction-4": 1234,
    }  # fmt: skip
    assert [body.get("cursor") for body in plaid.requests_at("/transactions/sync")] == [None, "2", "4", "6"]
    judge.judge(plaid.exchanges)


def test_plaid_transaction_feed_changed_during_paging_is_read_again(plaid, monkeypatch):
    monkeypatch.setattr("identity.providers.plaid.TRANSACTIONS_PER_PAGE", 2)
    item = DoubleItem("item-1", [account(1)], [("added", booking(number)) for number in range(4)], mutations=1)
    result = open_banking().list_transactions(link(plaid, item).access_token)
    assert len(result) == 4
    assert [body.get("cursor") for body in plaid.requests_at("/transactions/sync")] == [None, "2", None, "2"]


def test_plaid_transaction_feed_changed_three_times_during_paging_fails(plaid, monkeypatch):
    monkeypatch.setattr("identity.providers.plaid.TRANSACTIONS_PER_PAGE", 1)
    item = DoubleItem("item-1", [account(1)], [("added", booking(1)), ("added", booking(2))], mutations=99)
    token = link(plaid, item).access_token
    with pytest.raises(ProviderUnavailable, match="keep changing"):
        open_banking().list_transactions(token)
    assert len(plaid.requests_at("/transactions/sync")) == 2 * 3


def test_plaid_transaction_feed_that_never_ends_fails(plaid):
    token = link(plaid, DoubleItem("item-1")).access_token
    endless = json.dumps({"added": [], "modified": [], "removed": [], "has_more": True, "next_cursor": "1"}).encode()
    plaid.fail("/transactions/sync", *[Fault(200, endless)] * 41)
    with pytest.raises(ProviderUnavailable, match="more transactions"):
        open_banking().list_transactions(token)


def test_plaid_error_raises_the_matching_platform_error(plaid):
    token = link(plaid, DoubleItem("item-1")).access_token
    for code, kind, raised in (
        ("ITEM_LOGIN_REQUIRED", "ITEM_ERROR", LoginRequired), ("INVALID_CREDENTIALS", "ITEM_ERROR", LoginRequired),
        ("INVALID_ACCESS_TOKEN", "INVALID_INPUT", TokenRefused), ("ITEM_NOT_FOUND", "ITEM_ERROR", TokenRefused),
        ("INSTITUTION_DOWN", "INSTITUTION_ERROR", ProviderUnavailable),
        ("INTERNAL_SERVER_ERROR", "API_ERROR", ProviderUnavailable),
        ("INVALID_API_KEYS", "INVALID_INPUT", ProviderUnavailable),
    ):  # fmt: skip
        status, document = plaid_error(code, kind)
        plaid.fail("/accounts/get", Fault(status, json.dumps(document).encode()))
        with pytest.raises(raised):
            open_banking().list_accounts(token)


def test_plaid_rate_limit_error_includes_retry_after(plaid):
    status, document = plaid_error("ACCOUNTS_LIMIT", "RATE_LIMIT_EXCEEDED", 429)
    for headers, seconds in (({}, "60"), ({"Retry-After": "7"}, "7"), ({"Retry-After": "soon"}, "60")):
        plaid.fail("/link/token/create", Fault(status, json.dumps(document).encode(), headers))
        with pytest.raises(ProviderUnavailable) as caught:
            open_banking().create_link_token(user_id="42")
        assert caught.value.headers["Retry-After"] == seconds


HTML = b"<html>Bad gateway</html>"


def accounts_reply(number=b"0.5", **members):
    """Return a response with one account, whose balance can be a number that Python would not write."""
    document = {"accounts": [account(1, **{"current": 0.5, **members})], "item": {"item_id": "i"}}
    return Fault(200, json.dumps(document).encode().replace(b"0.5", number))


def test_an_unusable_response_of_plaid_raises_provider_unavailable(plaid):
    token = link(plaid, DoubleItem("item-1")).access_token
    for fault in (
        *(Fault(200, raw) for raw in (HTML, b"", b'{"accounts": [], "item"', b"[]", b"null", b"[" * 100_000,
                                      b'{"accounts": {}, "item": {"item_id": "i"}}', b'{"accounts": [], "item": {}}',
                                      b" " * 1_048_577)),
        accounts_reply(type=None), accounts_reply(current="12"), accounts_reply(current=True),
        *(accounts_reply(number) for number in (b"NaN", b"1e999999", b"1e18")),
        Fault(502, HTML), Fault(400, b'{"error_code": {"$ne": 1}}'), Fault(302, b"", {"Location": "http://127.0.0.1:1/"}),
        Fault(drop=True),
    ):  # fmt: skip
        plaid.fail("/accounts/get", fault)
        with pytest.raises(ProviderUnavailable):
            open_banking().list_accounts(token)


def test_an_outage_of_plaid_raises_provider_unavailable(settings):
    settings.OPEN_BANKING, settings.PLAID_BASE_URL = "plaid", "http://127.0.0.1:9"
    with pytest.raises(ProviderUnavailable):
        begin()


def test_a_request_to_plaid_has_a_timeout(plaid, monkeypatch):
    monkeypatch.setattr("identity.providers.plaid.READ_TIMEOUT_SECONDS", 0.05)
    plaid.fail("/identity_verification/create", Fault(hold=True))
    with pytest.raises(ProviderUnavailable, match="timeout"):
        begin()


def test_all_calls_to_plaid_of_one_request_share_a_deadline(plaid, monkeypatch):
    provider = open_banking()
    provider.create_link_token(user_id="42")
    later = provider._deadline + 1
    monkeypatch.setattr("identity.providers.plaid.time.monotonic", lambda: later)
    with pytest.raises(ProviderUnavailable, match="too long"):
        provider.create_link_token(user_id="42")
    assert len(plaid.exchanges) == 1


def test_plaid_logs_and_errors_contain_no_secret(plaid, caplog):
    caplog.set_level(logging.DEBUG)
    linked = link(plaid, DoubleItem("item-1"))
    leak = {"error_code": f"SEE {linked.access_token}", "error_type": "API_ERROR", "error_message": linked.access_token}
    plaid.fail("/accounts/get", Fault(500, json.dumps(leak).encode()), Fault(drop=True), Fault(200, b"{}"))
    accounts_reply = []
    for _ in range(3):
        with pytest.raises(ProviderUnavailable) as caught:
            open_banking().list_accounts(linked.access_token)
        accounts_reply.append(str(caught.value.body()))
        assert caught.value.__cause__ is None
    text = caplog.text + "".join(accounts_reply) + repr(linked)
    assert "plaid /accounts/get" in caplog.text
    assert linked.access_token not in text
    assert SECRET not in text


def test_identity_verification_is_read_from_plaid(plaid, judge):
    state = begin()
    assert state.hosted_url == f"https://verify.double.example/verify/{state.reference}"
    for status, steps, progress in (
        ("active", {}, Progress.WAITING),
        ("active", {"accept_tos": "success", "kyc_check": "active"}, Progress.WAITING),
        ("active", {"accept_tos": "success", "kyc_check": "success"}, Progress.RUNNING),
        ("success", {}, Progress.PASSED), ("failed", {}, Progress.FAILED), ("pending_review", {}, Progress.REVIEW),
        ("expired", {}, Progress.EXPIRED), ("canceled", {}, Progress.CANCELED),
    ):  # fmt: skip
        plaid.settle(state.reference, status, **steps)
        read = open_banking().read_verification(state.reference)
        assert (read.progress, read.status) == (progress, status)
    judge.judge(plaid.exchanges)
    assert begin().reference == state.reference, "a second request creates no second verification"


def test_plaid_link_token_in_update_mode_sends_the_item_without_products(plaid, settings):
    settings.PROVIDER_NAME = "A name that is longer than Plaid would take it"
    token = link(plaid, DoubleItem("item-1")).access_token
    open_banking().create_link_token(user_id="42", access_token=token)
    (body,) = plaid.requests_at("/link/token/create")
    assert "products" not in body
    assert body["access_token"] == token
    assert len(body["client_name"]) == 30
