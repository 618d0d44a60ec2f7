"""Test that writing in production requires a platform token or a listed key."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import connection
from jwt.algorithms import ECAlgorithm

from config import settings as project_settings
from config.api import rate_limits
from config.core.errors import Unavailable
from ledger import service_a as service_a_client
from ledger.models import Entry
from tests.identity.support import move_clock
from tests.ledger.conftest import assert_error
from tests.processes import silent_port

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]

KEY = ec.generate_private_key(ec.SECP256R1())
STRANGER = ec.generate_private_key(ec.SECP256R1())
JWK = {**ECAlgorithm(ECAlgorithm.SHA256).to_jwk(KEY.public_key(), as_dict=True), "kid": "k1", "alg": "ES256"}
ME_STATUS = [200]  # The variable sets the status of `GET /auth/me`.
ME_CODE = ["E1009"]  # The variable sets the error code if the status is 403.
FAMILY = "0199a1f0-0000-7000-8000-000000000000"
MACHINE_KEY = "machine-key-of-32-characters-or-so"


@pytest.fixture(scope="module")
def service_a():
    """Simulates service A, which publishes `KEY` and reports every token signed by `KEY` as valid.

    `test_revocation.py` uses the real service.
    """
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            content = json.dumps({"keys": [JWK]} if self.path.endswith("jwks.json") else self.who()).encode()
            self.send_response(ME_STATUS[0] if self.path == "/v1/auth/me" else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def who(self):
            text = self.headers["Authorization"].removeprefix("Bearer ")
            claims = jwt.decode(text, KEY.public_key(), ["ES256"], options={"verify_aud": False})
            if ME_STATUS[0] == 403:
                return {"code": ME_CODE[0]}
            fields = {"user_id": claims["sub"]}  # A delegated caller receives only this field.
            return fields if {"client_id", "act"} & set(claims) else fields | {"is_staff": claims.get("staff") is True}

        def log_message(self, *_args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", requests
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def production(settings, service_a, monkeypatch):
    """The ledger in production, behind a proxy that terminates TLS."""
    settings.PRODUCTION = True
    monkeypatch.setattr("config.api.middleware.is_https", lambda _request: True)
    settings.BASE_URL = service_a[0]
    settings.LEDGER_API_KEYS = frozenset({hashlib.sha256(MACHINE_KEY.encode()).hexdigest()})
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "ledger_write": 6_000, "ledger_token": 60}
    monkeypatch.setattr(service_a_client, "published_keys", service_a_client.PublishedKeys())
    monkeypatch.setattr(service_a_client, "introspection", service_a_client.Introspection())
    rate_limits._lots.clear()
    ME_STATUS[0], ME_CODE[0] = 200, "E1009"


def token(settings, *, key=KEY, headers=None, without=(), **changes):
    now = int(time.time())
    claims = {"iss": settings.BASE_URL, "aud": settings.BASE_URL, "sub": "42", "iat": now, "exp": now + 900,
              "jti": "j1", "sid": FAMILY, "token_type": "access", **changes}  # fmt: skip
    claims = {name: value for name, value in claims.items() if name not in without}
    return jwt.encode(claims, key, algorithm="ES256", headers={"kid": "k1", **(headers or {})})


def bearer(text):
    return {"authorization": f"Bearer {text}"}


def test_anchor_request_without_a_credential_is_rejected(client):
    response = client.anchor("hello")
    assert_error(response, 401, "E2001")
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert_error(client.get("/user/42/hashes"), 401, "E2001")
    assert_error(client.post_json("/anchor/batch", {"items": []}), 401, "E2001")


def test_ledger_log_is_readable_without_a_credential(client):
    for path in ("/health", "/stats", "/hash/" + "ab" * 32, "/blocks", "/key", "/"):
        assert client.get(path).status_code == 200, path


def test_platform_token_can_anchor_for_its_own_user_and_a_staff_token_for_any_user(client, settings):
    headers = bearer(token(settings))
    assert client.anchor("hello", **headers).status_code == 200
    assert client.get("/user/42/hashes", headers=headers).json()["total"] == 1
    staff = bearer(token(settings, sub="1", staff=True))
    assert client.anchor("hello", **staff).status_code == 200
    assert client.get("/user/42/hashes", headers=staff).status_code == 200
    other = bearer(token(settings, sub="43"))
    assert_error(client.anchor("hello", **other), 401, "E2004")
    assert_error(client.get("/user/42/hashes", headers=other), 401, "E2004")
    for claim in ("true", 1, None, ["staff"]):
        assert_error(client.anchor("hello", **bearer(token(settings, sub="1", staff=claim))), 401, "E2004")


def test_delegated_token_without_the_ledger_scope_is_rejected(client, settings):
    may = bearer(token(settings, client_id="app", scope="identity:write identity:read"))
    may_not = bearer(token(settings, client_id="app", scope="offers:read"))
    without = bearer(token(settings, client_id="app"))
    assert client.anchor("hello", **may).status_code == 200
    assert client.get("/user/42/hashes", headers=may).status_code == 200
    for headers in (may_not, without):
        assert_error(client.anchor("hello", **headers), 403, "E2005")
        assert_error(client.get("/user/42/hashes", headers=headers), 403, "E2005")


def test_listed_ledger_key_can_anchor_on_behalf_of_any_user(client):
    key = {"x-api-key": MACHINE_KEY}
    for headers in (key, bearer(MACHINE_KEY), {**key, **bearer(MACHINE_KEY)}):
        assert client.anchor("hello", **headers).status_code == 200
        assert client.get("/user/7/hashes", headers=headers).status_code == 200


def test_unlisted_ledger_key_is_rejected(client):
    for text in ("", "x", MACHINE_KEY + "x", MACHINE_KEY[:-1], "ü", "x" * 10_000):
        assert_error(client.anchor("hello", **{"x-api-key": text}), 401, "E2002")
        assert client.anchor("hello", **bearer(text)).status_code == 401


def test_token_with_malformed_claims_or_headers_returns_401(client, settings):
    """Uses the platform's own token reader; `tests/identity/test_jwt.py` has the other cases."""
    for changes in (
        {"iss": "https://elsewhere.example"}, {"aud": "https://elsewhere.example"}, {"sub": "042"}, {"exp": 1e15},
        {"iat": 4e9}, {"token_type": "refresh"}, {"scope": 5}, {"client_id": 5}, {"without": ("exp",)}, {"sid": "x"},
        {"key": STRANGER}, {"headers": {"kid": "k2"}}, {"headers": {"jwk": JWK}}, {"headers": {"crit": ["x"], "x": 1}},
    ):  # fmt: skip
        assert_error(client.anchor("hello", **bearer(token(settings, **changes))), 401, "E2002")
    assert_error(client.anchor("hello", **bearer(token(settings, exp=int(time.time()) - 1))), 401, "E2003")
    claims = jwt.decode(token(settings), options={"verify_signature": False})
    for algorithm, key in (("HS256", "s" * 64), ("none", None)):
        text = jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "k1"})
        assert_error(client.anchor("hello", **bearer(text)), 401, "E2002")


def test_malformed_authorization_header_returns_401_from_the_ledger(client):
    for header in (
        "Basic dTpw", "Bearer", "Bearer  x", "Negotiate x", "x", "Bearer a.b.c", "Bearer ..", "Bearer ü.ü.ü",
        "Bearer " + "x." * 5000,
    ):  # fmt: skip
        assert client.anchor("hello", authorization=header).status_code == 401, header


def test_two_different_credentials_in_one_request_are_rejected(client, settings):
    both = {**bearer(token(settings)), "x-api-key": MACHINE_KEY}
    assert_error(client.anchor("hello", **both), 400, "E1015")
    assert_error(client.anchor("hello", authorization=f"Bearer {token(settings)}, Bearer x"), 400, "E1015")
    assert_error(client.anchor("hello", **{"x-api-key": f"{MACHINE_KEY},{MACHINE_KEY}"}), 400, "E1015")


def test_ledger_fetches_the_published_keys_once_even_for_unknown_key_ids(client, settings, service_a):
    requested = service_a[1]
    requested.clear()
    headers = bearer(token(settings))
    for _ in range(5):
        assert client.anchor("hello", **headers).status_code == 200
        assert client.anchor("hello", **bearer(token(settings, headers={"kid": "unknown"}))).status_code == 401
    assert requested == ["/.well-known/jwks.json", "/v1/auth/me"]


def test_token_of_unknown_status_returns_503_without_affecting_listed_keys(client, settings):
    for status, expected, code in (
        (302, 503, "E5030"), (403, 503, "E5030"), (404, 503, "E5030"), (429, 503, "E5030"), (500, 503, "E5030"),
        (503, 503, "E5030"), (401, 401, "E2002"),
    ):  # fmt: skip
        ME_STATUS[0] = status
        headers = bearer(token(settings))
        assert_error(client.anchor("hello", **headers), expected, code)
        assert_error(client.get("/user/42/hashes", headers=headers), expected, code)
        assert client.anchor("hello", **bearer(MACHINE_KEY)).status_code == 200
    ME_STATUS[0] = 200
    assert client.anchor("hello", **bearer(token(settings))).status_code == 200


def test_token_request_to_the_ledger_returns_503_while_the_platform_is_unreachable(client, settings):
    headers = bearer(token(settings))
    settings.BASE_URL = "http://127.0.0.1:9/v1"
    assert_error(client.anchor("hello", **headers), 503, "E5030")


def test_partner_can_anchor_on_behalf_of_a_customer_until_access_ends(client, settings):
    for acts in ({"client_id": "app"}, {"act": {"sub": "7"}}):
        headers = bearer(token(settings, scope="identity:write", **acts))
        assert client.anchor("hello", **headers).status_code == 200
    ME_STATUS[0], ME_CODE[0] = 403, service_a_client.ACCESS_ENDED
    ended = bearer(token(settings, scope="identity:write", act={"sub": "8"}))
    assert_error(client.anchor("hello", **ended), 401, "E2002")


def test_token_requests_to_the_ledger_fail_fast_after_a_platform_timeout(settings, service_a, monkeypatch):
    monkeypatch.setattr(service_a_client, "_SECONDS", 0.2)
    text, requested = token(settings), service_a[1]
    introspection = service_a_client.Introspection()
    with pytest.raises(Unavailable):  # The platform returns the status of another account.
        service_a_client.Introspection().check(token(settings, sub="43"), "42")
    with silent_port() as port:
        settings.BASE_URL = f"http://127.0.0.1:{port}/v1"
        with pytest.raises(Unavailable):
            introspection.check(text, "42")
    settings.BASE_URL = service_a[0]
    requested.clear()
    with pytest.raises(Unavailable):
        introspection.check(text, "42")
    assert requested == []
    move_clock(monkeypatch, "ledger.service_a", service_a_client.OUTAGE_SECONDS)
    assert introspection.check(text, "42") is False


def test_anchor_batch_uses_one_rate_permit_per_entry(client, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "ledger_write": 10}

    def batch(first, number):
        items = [
            {"user_id": "42", "report_type": "t", "report_data": f"report {index}"}
            for index in range(first, first + number)
        ]
        return client.post_json("/anchor/batch", {"items": items}, **bearer(MACHINE_KEY))

    assert batch(0, 6).status_code == 200
    assert_error(batch(6, 5), 429, "E6001")
    assert not Entry.objects.filter(index__gte=6).exists(), "a rejected batch must store no entry"
    assert batch(6, 3).status_code == 200


def test_each_ledger_token_has_a_lower_rate_limit_than_a_listed_key(client, settings):
    assert project_settings.RATE_LIMITS["ledger_token"] == 60  # entries a minute
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "ledger_token": 2, "ledger_write": 3}
    statuses = [client.anchor(f"report {number}", **bearer(token(settings))).status_code for number in range(3)]
    assert statuses == [200, 200, 429]
    assert client.anchor("report 4", user="43", **bearer(token(settings, sub="43"))).status_code == 200
    statuses = [client.anchor(f"report {number}", **bearer(MACHINE_KEY)).status_code for number in range(5, 9)]
    assert statuses == [200, 200, 200, 429]


def test_only_listed_keys_can_anchor_batches(client, settings):
    items = {"items": [{"user_id": "42", "report_type": "t", "report_data": "a report"}]}
    assert_error(client.post_json("/anchor/batch", items, **bearer(token(settings))), 403, "E2005")
    assert_error(client.post_json("/anchor/batch", items, **bearer(token(settings, staff=True))), 403, "E2005")
    assert not Entry.objects.exists()
    assert client.post_json("/anchor/batch", items, **bearer(MACHINE_KEY)).status_code == 200


def test_ledger_reads_without_a_credential_are_rate_limited_by_ip(client, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous": 2}
    assert [client.get("/stats").status_code for _ in range(3)] == [200, 200, 429]
    assert client.get("/stats", REMOTE_ADDR="192.0.2.9").status_code == 200
    assert client.get("/health").status_code == 200
    key = {"X-API-Key": MACHINE_KEY}
    assert [client.get("/stats", headers=key).status_code for _ in range(4)] == [200] * 4
    assert client.get("/stats", headers={"X-API-Key": "another"}).status_code == 429


def test_ledger_with_a_read_only_database_still_serves_reads(committed, client):
    is_postgresql = connection.vendor == "postgresql"
    only_reads = "SET default_transaction_read_only = {}" if is_postgresql else "PRAGMA query_only = {}"
    with connection.cursor() as cursor:
        cursor.execute(only_reads.format("on"))
        try:
            assert client.get("/stats").status_code == 200
            assert client.anchor("hello", **bearer(MACHINE_KEY)).status_code == 503
        finally:
            cursor.execute(only_reads.format("off"))
    assert client.anchor("hello", **bearer(MACHINE_KEY)).status_code == 200


def test_ledger_writes_in_development_without_a_credential_are_rate_limited_by_ip(client, settings):
    settings.PRODUCTION = False
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "ledger_write": 2}
    assert client.anchor("hello").status_code == 200
    assert client.get("/user/42/hashes").status_code == 200
    assert [client.anchor(f"report {number}").status_code for number in range(2)] == [200, 429]
