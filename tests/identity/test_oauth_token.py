"""Test `POST /v1/oauth/token` and `/v1/oauth/revoke`."""

import base64
from datetime import timedelta
from functools import partial
from urllib.parse import urlencode

import jwt
import pytest
from django.utils import timezone
from oauth2_provider.models import Grant

from identity.access.authentication import forget_credentials
from identity.access.scopes import SCOPES
from identity.models import TokenFamily
from tests.api import ApiClient
from tests.factories import UserFactory
from tests.identity.oauth_support import CHALLENGE, REDIRECT, VERIFIER, code_for, exchange, make_client, refresh
from tests.races import run_concurrently


@pytest.fixture
def registered(db):
    return make_client()


def assert_refused(response, status, word):
    """Check the error word of RFC 6749 and the fields of our own error format."""
    body = response.json()
    assert (response.status_code, body["error"]) == (status, word), body
    assert set(body) == {"error", "message", "code", "request_id", "doc_url"}
    assert body["code"].startswith("E")
    if status == 401:
        assert response.headers["WWW-Authenticate"]


def tokens_of(user, registered, **changes):
    response = exchange(code_for(user, registered[0], **changes), *registered)
    assert response.status_code == 200, response.content
    return response.json()


def reads_offers(access_token):
    forget_credentials()
    return ApiClient(bearer=access_token).read("/provider-offers?provider_id=1").status_code


def test_code_exchange_with_a_json_body_returns_tokens(registered):
    user = UserFactory(is_staff=True)
    body = tokens_of(user, registered)
    assert set(body) == {
        "access_token", "token_type", "expires_in", "refresh_token", "refresh_expires_in", "scope",
    }  # fmt: skip
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("Bearer", 900, "offers:read")
    claims = jwt.decode(body["access_token"], options={"verify_signature": False})
    assert (claims["sub"], claims["client_id"], claims["scope"]) == (
        str(user.pk), registered[0].client_id, "offers:read",
    )  # fmt: skip
    assert "staff" not in claims, "a member of staff does not lend that to a client"
    assert reads_offers(body["access_token"]) == 200


def test_code_exchange_requires_the_redirect_uri_of_the_authorization(user, registered):
    for at_authorization, at_exchange in ((REDIRECT, REDIRECT), (None, None), (None, REDIRECT)):
        code = code_for(user, registered[0], redirect_uri=at_authorization)
        response = exchange(code, *registered, redirect_uri=at_exchange)
        assert response.status_code == 200, response.content
    code = code_for(user, registered[0], redirect_uri=REDIRECT)
    assert_refused(exchange(code, *registered, redirect_uri=None), 400, "invalid_grant")


def test_code_exchange_with_form_or_basic_authentication_returns_tokens(user, registered):
    client, secret = registered
    basic = base64.b64encode(f"{client.client_id}:{secret}".encode()).decode()

    def send(authorization):
        form = {"grant_type": "authorization_code", "code": code_for(user, client), "redirect_uri": REDIRECT}
        headers = {"content_type": "application/x-www-form-urlencoded", "Authorization": authorization}
        return ApiClient().send("/oauth/token", raw=urlencode(form).encode(), **headers)

    for scheme in ("Basic", "basic", "BASIC "):
        assert send(f"{scheme} {basic}").status_code == 200, scheme
    assert_refused(send("Basic \u00fc"), 401, "invalid_client")


def test_oauth_token_is_limited_to_the_consented_scopes(user, registered):
    access = tokens_of(user, registered)["access_token"]
    delegated = ApiClient(bearer=access)
    assert delegated.read("/applications").json()["details"] == {"required": "applications:read"}
    for path in ("/claims", f"/user/{user.pk}/payment-methods"):
        refusal = delegated.read(path).json()
        assert (refusal["code"], "details" in refusal, "first-party" in refusal["message"]) == ("E2005", False, False)
    assert delegated.send("/provider-offers", {}).json()["code"] == "E2005"
    assert delegated.read("/auth/me").json()["scopes"] == ["offers:read"]


def test_invalid_code_exchange_returns_the_error_of_rfc_6749(user, registered):
    for changes, status, word in (
        ({"client_secret": "wrong"}, 401, "invalid_client"), ({"client_secret": None}, 401, "invalid_client"),
        ({"client_id": "nobody"}, 401, "invalid_client"), ({"code": "unknown"}, 400, "invalid_grant"),
        ({"redirect_uri": "https://app.example/other"}, 400, "invalid_grant"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, 400, "unsupported_grant_type"),
        ({"grant_type": None}, 400, "unsupported_grant_type"), ({"code": None}, 400, "invalid_request"),
        ({"code": 5}, 400, "invalid_request"),
    ):  # fmt: skip
        fields = {"code": code_for(user, registered[0]), **changes}
        assert_refused(exchange(fields.pop("code"), *registered, **fields), status, word)
    other = make_client(name="Another app")
    assert_refused(exchange(code_for(user, registered[0]), *other), 400, "invalid_grant")


def test_code_exchange_with_an_unreadable_body_returns_invalid_request(db):
    for raw, content_type in (
        (b"{", "application/json"), (b"[]", "application/json"), (b"\xff", "application/x-www-form-urlencoded"),
        (b"code=1&code=2", "application/x-www-form-urlencoded"), (b"x=%ff", "application/x-www-form-urlencoded"),
        (b"<a/>", "text/xml"),
    ):  # fmt: skip
        response = ApiClient().call("POST", "/oauth/token", raw=raw, content_type=content_type)
        assert_refused(response, 400, "invalid_request")


def test_reused_authorization_code_revokes_its_tokens(user, registered):
    code = code_for(user, registered[0])
    body = exchange(code, *registered).json()
    assert reads_offers(body["access_token"]) == 200
    assert_refused(exchange(code, *registered), 400, "invalid_grant")
    assert reads_offers(body["access_token"]) == 401
    assert_refused(refresh(body["refresh_token"], *registered), 400, "invalid_grant")


def test_authorization_code_expires_after_60_seconds(user, registered):
    code = code_for(user, registered[0])
    grant = Grant.objects.get(code=code)
    assert timedelta(seconds=50) < grant.expires - timezone.now() <= timedelta(seconds=60)
    Grant.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert_refused(exchange(code, *registered), 400, "invalid_grant")


def test_a_public_client_authenticates_with_pkce(user, db):
    client, secret = make_client(name="Phone app", public=True)
    assert secret is None
    code = code_for(user, client, code_challenge=CHALLENGE, code_challenge_method="S256")
    assert_refused(exchange(code, client, None), 400, "invalid_request")
    assert_refused(exchange(code, client, None, code_verifier="w" * 64), 400, "invalid_grant")
    assert exchange(code, client, None, code_verifier=VERIFIER).status_code == 200


def test_pkce_of_a_confidential_client_is_verified(user, registered):
    code = code_for(user, registered[0], code_challenge=CHALLENGE, code_challenge_method="S256")
    assert_refused(exchange(code, *registered, code_verifier="w" * 64), 400, "invalid_grant")
    assert exchange(code, *registered, code_verifier=VERIFIER).status_code == 200
    code = code_for(user, registered[0])  # This code has no challenge.
    for verifier in (VERIFIER, ""):
        assert_refused(exchange(code, *registered, code_verifier=verifier), 400, "invalid_grant")
    assert exchange(code, *registered).status_code == 200


def test_oauth_refresh_rotates_the_token_and_reuse_revokes_the_token_family(user, registered):
    first = tokens_of(user, registered)
    second = refresh(first["refresh_token"], *registered).json()
    assert reads_offers(second["access_token"]) == 200
    assert_refused(refresh(first["refresh_token"], *registered), 400, "invalid_grant")
    assert reads_offers(second["access_token"]) == 401
    assert_refused(refresh(second["refresh_token"], *registered), 400, "invalid_grant")


def test_oauth_refresh_can_narrow_but_not_widen_the_scope(user, registered):
    first = tokens_of(user, registered, scope="offers:read identity:read")
    second = refresh(first["refresh_token"], *registered, scope="identity:read").json()
    assert second["scope"] == "identity:read"
    assert reads_offers(second["access_token"]) == 403
    third = refresh(second["refresh_token"], *registered).json()
    assert third["scope"] == "offers:read identity:read"
    assert_refused(refresh(third["refresh_token"], *registered, scope="webhooks"), 400, "invalid_scope")


def test_refresh_token_of_a_client_is_rejected_for_another_client(user, registered):
    body = tokens_of(user, registered)
    answer = ApiClient().send("/auth/refresh", {"refresh_token": body["refresh_token"]})
    assert (answer.status_code, answer.json()["code"]) == (401, "E2002")
    assert_refused(refresh(body["refresh_token"], *make_client(name="Another app")), 400, "invalid_grant")
    assert refresh(body["refresh_token"], *registered).status_code == 200


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_client_can_revoke_its_own_tokens(user, registered, which):
    client, secret = registered
    body = tokens_of(user, registered)
    said = {"token": body[which], "client_id": client.client_id, "client_secret": secret}
    assert ApiClient().send("/oauth/revoke", said).status_code == 200
    assert reads_offers(body["access_token"]) == 401
    assert ApiClient().send("/oauth/revoke", {**said, "token": "unknown"}).status_code == 200


def test_oauth_client_can_revoke_only_its_own_tokens_and_only_with_its_secret(user, registered):
    body = tokens_of(user, registered)
    said = {"token": body["access_token"], "client_id": registered[0].client_id, "client_secret": "wrong"}
    assert_refused(ApiClient().send("/oauth/revoke", said), 401, "invalid_client")
    other, secret = make_client(name="Another app")
    for which in ("access_token", "refresh_token"):
        said = {"token": body[which], "client_id": other.client_id, "client_secret": secret}
        assert ApiClient().send("/oauth/revoke", said).status_code == 200
    assert reads_offers(body["access_token"]) == 200


def test_a_password_change_revokes_the_tokens_of_clients(user, registered):
    body = tokens_of(user, registered)
    user.set_password("another password 7")
    user.save()
    assert reads_offers(body["access_token"]) == 401
    assert_refused(refresh(body["refresh_token"], *registered), 400, "invalid_grant")


def test_oauth_metadata_document_lists_every_endpoint(db, settings):
    body = ApiClient().read("/.well-known/oauth-authorization-server").json()
    assert body["issuer"] == settings.HOST_ROOT
    assert body["token_endpoint"] == f"{settings.BASE_URL}/oauth/token"
    assert body["authorization_endpoint"] == f"{settings.APP_URL}/oauth/authorize"
    assert body["code_challenge_methods_supported"] == ["S256"]
    assert body["scopes_supported"] == list(SCOPES)
    assert {"bankdata:read", "bankdata:write", "applications:read", "applications:write"} < set(SCOPES)


ROUNDS, AT_ONCE = 10, 8


def statuses_of(call):
    """Call from AT_ONCE threads; return the statuses, sorted."""
    return sorted(answer.status_code for answer in run_concurrently(*[call] * AT_ONCE))


@pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")
def test_only_one_of_concurrent_uses_of_an_authorization_code_succeeds():
    user, registered = UserFactory(), make_client()
    for _ in range(ROUNDS):
        code = code_for(user, registered[0])
        assert statuses_of(partial(exchange, code, *registered)) == [200] + [400] * (AT_ONCE - 1)
    assert TokenFamily.objects.count() == ROUNDS


@pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")
def test_concurrent_uses_of_an_oauth_refresh_token_revoke_the_token_family():
    user, registered = UserFactory(), make_client()
    for _ in range(ROUNDS):
        token = exchange(code_for(user, registered[0]), *registered).json()["refresh_token"]
        assert statuses_of(partial(refresh, token, *registered)) == [200] + [400] * (AT_ONCE - 1)
    assert not TokenFamily.objects.filter(revoked_at__isnull=True).exists()
