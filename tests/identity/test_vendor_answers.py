"""Test that a missing or wrongly typed member of a vendor's response becomes a documented error, and never a 500."""

import copy
import json
import random
from dataclasses import fields, replace
from datetime import timedelta

import jwt
import pytest
from django.test import Client

from config.clients.provider import ProviderUnavailable
from identity.bank.checking import check_open_banking
from identity.bank.models import BankItem
from identity.oidc import client as issuer_client
from identity.providers import plaid_events
from identity.providers.choice import open_banking
from identity.providers.models import SandboxVerification
from identity.providers.sandbox import Sandbox
from staging.models import StagedItem
from tests.hostile_answers import HOSTILE, REMOVED, alterations, try_each
from tests.identity.altered import Altered
from tests.identity.banking import age, start
from tests.identity.issuer_double import JANE, KEY, invited, start_log_in
from tests.identity.plaid_double import DoubleItem, account, booking
from tests.properties import quick_or_full, share_of

pytestmark = pytest.mark.django_db
TRIES = 200


def assert_documented(response):
    """A vendor's fault is 502. Per item, it is a 200 that names the error."""
    assert response.status_code in {200, 502}, response.content
    if response.status_code == 502:
        assert response.json()["code"] in {"E5003", "E5004"}


def linked(plaid, api, user):
    plaid.offer("public-1", DoubleItem("item", [account(1)], [("added", booking(1))]))
    exchange = api.send("/bankdata/exchange", {"public_token": "public-1", "user_id": str(user.pk)})
    assert exchange.status_code == 200, exchange.content


@pytest.mark.parametrize(
    ("vendor_path", "path"), [("/accounts/get", "/bankdata/accounts"), ("/transactions/sync", "/bankdata/transactions")]
)
def test_altered_plaid_bank_data_is_accepted_or_causes_a_documented_error(plaid, api, user, vendor_path, path):
    linked(plaid, api, user)

    def read_data():
        assert_documented(api.read(f"{path}/{user.pk}"))
        BankItem.objects.update(needs_login=False, gone_at=None)

    assert try_each(plaid, vendor_path, read_data, TRIES) > 0


def test_altered_plaid_link_token_is_returned_or_causes_a_documented_error(plaid, api, user):
    def create():
        assert_documented(api.send("/bankdata/link-token", {"user_id": str(user.pk)}))

    assert try_each(plaid, "/link/token/create", create, TRIES) > 0


@pytest.mark.parametrize("vendor_path", ["/item/public_token/exchange", "/accounts/get", "/transactions/sync"])
def test_altered_plaid_exchange_response_links_the_bank_or_causes_a_documented_error(plaid, api, user, vendor_path):
    def link():
        BankItem.objects.all().delete()
        StagedItem.objects.all().delete()
        plaid.offer("public-1", DoubleItem("item", [account(1)], [("added", booking(1))]))
        assert_documented(api.send("/bankdata/exchange", {"public_token": "public-1", "user_id": str(user.pk)}))

    assert try_each(plaid, vendor_path, link, TRIES) > 0


def test_altered_plaid_verification_is_returned_or_causes_a_documented_error(plaid, api):
    shown = start(api)

    def read_status():
        age(shown["verification_id"], refreshed_at=timedelta(minutes=1))
        assert_documented(api.read(f"/kyc/status/{shown['verification_id']}"))

    assert try_each(plaid, "/identity_verification/get", read_status, TRIES) > 0


def test_altered_plaid_webhook_key_causes_a_documented_error(plaid, anonymous):
    body = b'{"webhook_type": "OTHER"}'

    def deliver():
        plaid_events._keys.clear()
        token = plaid.sign(body)
        response = anonymous.send("/kyc/provider-events", raw=body, Plaid_Verification=token)
        assert response.status_code in {200, 401, 502}, response.content

    assert try_each(plaid, "/webhook_verification_key/get", deliver, TRIES) > 0


def changes_of(honest):
    """Yield changes of an adapter's result: another value, and each member removed or replaced."""
    for value in HOSTILE:
        yield lambda _result, value=value: value
    if isinstance(honest, list):
        for place, value, _ in alterations(json.loads(json.dumps(honest[:2])), 10**9):
            yield lambda rows, place=place, value=value: changed_rows(rows, place, value)
    elif honest is not None and not isinstance(honest, str):
        for name in (field.name for field in fields(honest)):
            for value in HOSTILE:
                yield lambda result, name=name, value=value: replace(result, **{name: value})


def changed_rows(rows, place, value):
    rows = copy.deepcopy(rows)
    parent = rows
    for name in place[:-1]:
        parent = parent[name]
    if value is REMOVED and place:
        del parent[place[-1]]
    elif place:
        parent[place[-1]] = value
    return rows


METHODS = {
    "create_verification": lambda api, _user: api.send("/kyc/create", {}),
    "create_link_token": lambda api, user: api.send("/bankdata/link-token", {"user_id": str(user.pk)}),
    "list_accounts": lambda api, user: api.read(f"/bankdata/accounts/{user.pk}"),
    "list_transactions": lambda api, user: api.read(f"/bankdata/transactions/{user.pk}"),
}
HONEST = {
    "create_verification": lambda: Sandbox().create_verification(
        client_user_id="1", template_id=None, redirect_uri=None
    ),
    "create_link_token": lambda: Sandbox().create_link_token(user_id="1"),
    "list_accounts": lambda: Sandbox().list_accounts("access-sandbox-demo"),
    "list_transactions": lambda: Sandbox().list_transactions("access-sandbox-demo"),
}


@pytest.fixture
def adapter(settings):
    settings.OPEN_BANKING = "tests.identity.altered:Altered"
    Altered.method = ""
    yield
    Altered.method = ""


@pytest.mark.parametrize("method", METHODS)
def test_altered_adapter_result_is_returned_or_causes_a_documented_error(adapter, api, user, method):
    body = {"public_token": "public-sandbox-altered", "user_id": str(user.pk)}
    assert api.send("/bankdata/exchange", body).status_code == 200
    every = list(changes_of(HONEST[method]()))
    for change in random.Random(1).sample(every, min(len(every), share_of(TRIES))):
        Altered.method, Altered.change = method, staticmethod(change)
        BankItem.objects.update(needs_login=False, gone_at=None)
        assert_documented(METHODS[method](api, user))


@pytest.mark.parametrize("method", METHODS)
def test_adapter_result_that_the_platform_rejects_fails_check_vendor(adapter, method):
    every = list(changes_of(HONEST[method]()))
    for number, change in enumerate(random.Random(2).sample(every, min(len(every), share_of(60)))):
        Altered.method, Altered.change = method, staticmethod(change)
        faults = [fault for _, fault in check_open_banking(Altered(), f"public-sandbox-{number}") if fault]
        try:
            HONEST_THROUGH_PLATFORM[method]()
        except ProviderUnavailable:
            assert faults


HONEST_THROUGH_PLATFORM = {
    "create_verification": lambda: open_banking().create_verification(
        client_user_id="1", template_id=None, redirect_uri=None
    ),
    "create_link_token": lambda: open_banking().create_link_token(user_id="1"),
    "list_accounts": lambda: open_banking().list_accounts("access-sandbox-demo"),
    "list_transactions": lambda: open_banking().list_transactions("access-sandbox-demo"),
}


@pytest.mark.parametrize("name", ["pending", "currency", "item_id"])
def test_bank_transaction_without_a_documented_key_fails_check_vendor_and_causes_no_500(adapter, api, user, name):
    body = {"public_token": "public-sandbox-short", "user_id": str(user.pk)}
    assert api.send("/bankdata/exchange", body).status_code == 200
    Altered.method = "list_transactions"
    Altered.change = staticmethod(lambda rows: [{key: row[key] for key in row if key != name} for row in rows])
    faults = dict(check_open_banking(Altered(), "public-sandbox-other"))
    assert faults["list_transactions"] == f"entry 0: `{name}` is missing"
    response = api.read(f"/bankdata/transactions/{user.pk}")
    assert (response.status_code, response.json()["code"]) == (502, "E5003")


def test_unexpected_adapter_exception_returns_a_vendor_error_without_its_message(adapter, api, user, caplog):
    Altered.method, Altered.change = "create_link_token", staticmethod(lambda _link: {}["555-12-3456"])
    response = api.send("/bankdata/link-token", {"user_id": str(user.pk)})
    assert (response.status_code, response.json()["code"]) == (502, "E5003")
    assert "raised KeyError" in caplog.text
    assert "555-12-3456" not in caplog.text


def test_adapter_of_a_custom_vendor_verifies_events_by_its_own_header(settings, api, anonymous):
    settings.OPEN_BANKING = "tests.identity.altered:Other"
    shown = start(api)
    session = SandboxVerification.objects.get()
    SandboxVerification.objects.update(progress="passed")
    body = json.dumps({"session": session.reference}).encode()
    assert anonymous.send("/kyc/provider-events", raw=body).status_code == 401
    assert anonymous.send("/kyc/provider-events", raw=body, X_Other_Signature="good").status_code == 200
    assert api.read(f"/kyc/status/{shown['verification_id']}").json()["status"] == "verified"
    assert anonymous.send("/kyc/provider-events", raw=b"[]", X_Other_Signature="good").status_code == 502


OIDC_PATHS = ["/tenant/.well-known/openid-configuration", "/tenant/keys", "/tenant/token", "/tenant/userinfo"]


@pytest.mark.filterwarnings("ignore:The RSA key is")
@pytest.mark.parametrize("path", OIDC_PATHS)
def test_altered_oidc_issuer_response_leads_to_a_log_in_or_an_error_page(issuer, path):
    issuer.person.pop("groups")
    issuer.userinfo = {"groups": ["idp-support"], "website": "x"}

    def log_in():
        issuer_client.forget_documents()
        response = Client().get("/account/oidc/start")
        assert response.status_code in {302, 403, 502}
        if response.status_code == 302 and response.headers["Location"].startswith(issuer.url):
            issuer_client.forget_documents()
            assert issuer_response(issuer, response).status_code in {302, 403, 502}

    assert try_each(issuer, path, log_in, TRIES // 4) > 0


def issuer_response(issuer, response):
    browser = Client()
    alter, issuer.alter = issuer.alter, None
    browser, back = start_log_in(issuer, browser)
    issuer.alter = alter
    issuer_client.forget_documents()
    return browser.get(back)


CLAIMS = ("iss", "aud", "iat", "exp", "nbf", "sub", "sid", "nonce", "amr", "acr", "email", "groups", "azp", "events")


def sign_unchecked(claims):
    """Sign claims that the library would refuse to encode."""
    payload = json.dumps(claims).encode()
    return jwt.api_jws.encode(payload, KEY, algorithm="RS256", headers={"kid": "one"})


@pytest.mark.parametrize("claim", CLAIMS)
def test_altered_oidc_claim_leads_to_a_log_in_or_an_error_page(issuer, claim):
    invited()
    issuer.sign = sign_unchecked
    values = (REMOVED, *HOSTILE, "1700000000")
    for value in quick_or_full(random.Random(claim).sample(values, 5), values):
        issuer.claim_changes = {claim: None if value is REMOVED else value}
        issuer.person = {**JANE}
        browser, back = start_log_in(issuer)
        assert browser.get(back).status_code in {302, 403, 502}, repr(value)
        token = issuer.logout_token(sub="jane-1", sid="s1")
        response = Client().post("/account/oidc/logout", {"logout_token": token})
        assert response.status_code in {200, 400, 503}, repr(value)


def test_oidc_log_in_is_rejected_if_id_token_and_userinfo_contain_no_subject(issuer):
    issuer.userinfo, issuer.claim_changes = {"website": "x"}, {"groups": None, "sub": None}
    browser, back = start_log_in(issuer)
    assert browser.get(back).status_code == 403
