"""Test the coverage and the validity of request signatures, and every kind of manipulation."""

import base64
import json
import time
import uuid
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from credit.models import Offer
from identity.models import UsedSignature
from tests.api import ApiClient, assert_error
from tests.factories import OfferFactory, ProviderFactory, UserFactory
from tests.identity.support import issue, signature_headers, signed_call, stop_clock
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db
ME = "/v1/auth/me"
OFFERS = "/v1/provider-offers"
FIRST_KEY, OTHER_KEY = "0196b2c4-0000-7000-8000-000000000001", "0196b2c4-0000-7000-8000-000000000002"


@pytest.fixture
def issued(user):
    """Return a key of `user` with its secret."""
    return issue(user)


@pytest.fixture
def body(user):
    """Return the bytes of a valid offer."""
    return json.dumps({"provider_id": "901", "name": "A", "product_type": "personal_loan"}).encode()


def test_api_key_sent_as_bearer_without_a_signature_is_rejected(issued):
    body = assert_error(ApiClient(bearer=issued.key).read("/auth/me"), 401, "E2006")
    assert "X-Service-Signature" in body["message"]
    assert "X-API-Key" in body["message"]
    headers = signature_headers(issued, "GET", ME)
    del headers["X-Service-Signature"]
    assert_error(ApiClient().read("/auth/me", **headers), 401, "E2006")
    headers = signature_headers(issued, "GET", ME)
    del headers["X-Service-Timestamp"]
    assert_error(ApiClient().read("/auth/me", **headers), 401, "E2008")


@pytest.mark.parametrize("seconds", [-301, -300, 300, 301])
def test_request_signature_is_accepted_for_300_seconds(issued, seconds, monkeypatch):
    now = 1_800_000_000
    headers = signature_headers(issued, "GET", ME, at=now + seconds)
    stop_clock(monkeypatch, "identity.access.signatures", float(now))
    answer = ApiClient().read("/auth/me", **headers)
    assert answer.status_code == 200 if abs(seconds) <= 300 else assert_error(answer, 401, "E2008")


@pytest.mark.parametrize(
    "form", [" {}", "{} ", "+{}", "0{}", "{}.0", "1.7e9", "", "-{}", "0x6553f100", "{}0", "\u0661\u0667" * 5, "{}\t"]
)
def test_malformed_signature_timestamp_is_rejected(issued, form):
    timestamp = form.format(int(time.time())).encode().decode("latin-1")
    headers = signature_headers(issued, "GET", ME, at=timestamp)
    assert_error(ApiClient().read("/auth/me", **headers), 401, "E2008")


def test_malformed_request_signature_is_rejected(issued):
    good = signature_headers(issued, "GET", ME)
    signature = good["X-Service-Signature"]
    for bent in (
        signature.upper() if signature != signature.upper() else "A" * 64,
        base64.b64encode(bytes.fromhex(signature)).decode(), signature[:-1], signature + "0", signature[:-1] + "\xe9",
        "\u0660".encode().decode("latin-1") * 32, " " + signature, "sha256=" + signature, "", "0" * 64,
    ):  # fmt: skip
        response = ApiClient().read("/auth/me", **{**good, "X-Service-Signature": bent})
        assert_error(response, 401, "E2006")


def test_a_signature_by_the_secret_of_another_key_is_rejected(issued, user):
    other = issue(user)
    headers = signature_headers(other, "GET", ME, Authorization=f"Bearer {issued.key}")
    assert_error(ApiClient().read("/auth/me", **headers), 401, "E2006")


def test_a_signed_request_changed_after_signing_is_rejected(issued, body):
    headers = signature_headers(issued, "POST", OFFERS, body)
    api = ApiClient()
    assert_error(api.call("PUT", f"{OFFERS}/1", raw=body, **headers), 401, "E2006")
    assert_error(api.call("POST", f"{OFFERS}/", raw=body, **headers), 404, "E4001")
    assert_error(api.call("POST", OFFERS, raw=body.replace(b'"A"', b'"B"'), **headers), 401, "E2006")
    assert_error(api.call("POST", OFFERS, raw=json.dumps(json.loads(body), indent=1).encode(), **headers), 401, "E2006")
    later = {**headers, "X-Service-Timestamp": str(int(headers["X-Service-Timestamp"]) + 1)}
    assert_error(api.call("POST", OFFERS, raw=body, **later), 401, "E2006")
    assert Offer.objects.count() == 0


def test_signed_path_moved_into_the_body_is_rejected(issued, user):
    offer = OfferFactory(provider=ProviderFactory(owner=user))
    path = f"{OFFERS}/{offer.pk}"
    for cut in range(1, len(path)):
        response = signed_call(issued, "DELETE", path, sent=path[:cut], sent_body=path[cut:].encode())
        assert response.status_code in {400, 401, 404}, (cut, response.content)
        assert_error(response, response.status_code, response.json()["code"])
    offer.refresh_from_db()
    assert offer.is_active
    assert signed_call(issued, "DELETE", path).status_code == 200


def test_a_signed_body_cannot_be_moved_into_the_path(issued, body):
    headers = signature_headers(issued, "POST", OFFERS, body)
    response = ApiClient().call("POST", OFFERS + body.decode().replace(" ", ""), raw=b"", **headers)
    assert response.status_code in {401, 404}
    assert Offer.objects.count() == 0


@pytest.mark.parametrize("start", [b" ", b"\n", b"[", b'"', b"x"])
def test_signed_body_without_a_leading_brace_is_rejected(issued, body, start):
    response = signed_call(issued, "POST", OFFERS, start + body)
    assert_error(response, 400, "E1002")


def test_request_signature_covers_the_query_optionally_for_get(issued, body):
    path = "/v1/applications"
    assert signed_call(issued, "GET", f"{path}?limit=5").status_code == 200
    assert signed_call(issued, "GET", path, sent=f"{path}?limit=5").status_code == 200
    assert_error(signed_call(issued, "GET", f"{path}?limit=1", sent=f"{path}?limit=99"), 401, "E2006")
    assert_error(signed_call(issued, "POST", OFFERS, body, sent=f"{OFFERS}?a=1"), 401, "E2006")
    assert signed_call(issued, "POST", f"{OFFERS}?a=1", body).status_code == 201


@pytest.mark.parametrize("spelling", ["{}", '"{}"', "upper"])
def test_signed_replay_with_its_idempotency_key_returns_the_first_response(issued, body, spelling):
    headers, key = signature_headers(issued, "POST", OFFERS, body), str(uuid.uuid4())
    again = key.upper() if spelling == "upper" else spelling.format(key)
    api = ApiClient()
    first = api.call("POST", OFFERS, raw=body, key=key, **headers)
    second = api.call("POST", OFFERS, raw=body, key=again, **headers)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.content == first.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Offer.objects.count() == 1


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (None, FIRST_KEY), (FIRST_KEY, OTHER_KEY), (FIRST_KEY, None), (FIRST_KEY, "no-uuid"), ("no-uuid", "no-uuid"),
        ("no-uuid", FIRST_KEY), (None, ""), (None, None),
    ],
)  # fmt: skip
def test_signed_replay_without_its_idempotency_key_is_rejected(issued, body, first, then):
    headers = signature_headers(issued, "POST", OFFERS, body)
    api = ApiClient()
    began = api.call("POST", OFFERS, raw=body, key=first, **headers)
    assert began.status_code == (400 if first == "no-uuid" else 201)
    assert_error(api.call("POST", OFFERS, raw=body, key=then, **headers), 401, "E2007")
    assert Offer.objects.count() == (0 if first == "no-uuid" else 1)


@pytest.mark.parametrize("key", [FIRST_KEY, None])
def test_an_operation_without_idempotency_accepts_a_signature_once(issued, user, key):
    path, body = "/v1/bankdata/link-token", json.dumps({"user_id": str(user.pk)}).encode()
    headers = signature_headers(issued, "POST", path, body)
    api = ApiClient()
    assert api.call("POST", path, raw=body, key=FIRST_KEY, **headers).status_code == 200
    assert_error(api.call("POST", path, raw=body, key=key, **headers), 401, "E2007")


def test_an_unknown_method_accepts_a_signature_once(issued):
    headers = signature_headers(issued, "POST", ME, b"")
    api = ApiClient()
    assert_error(api.call("POST", ME, raw=b"", key=FIRST_KEY, **headers), 405, "E4050")
    assert_error(api.call("POST", ME, raw=b"", key=FIRST_KEY, **headers), 401, "E2007")


@pytest.mark.parametrize(("key", "status", "code"), [(None, 401, "E2007"), (FIRST_KEY, 400, "E1001")])
def test_a_failed_signed_request_can_be_retried_only_with_its_key(issued, key, status, code):
    headers = signature_headers(issued, "POST", OFFERS, b"{}")
    api = ApiClient()
    assert_error(api.call("POST", OFFERS, raw=b"{}", key=key, **headers), 400, "E1001")
    assert_error(api.call("POST", OFFERS, raw=b"{}", key=key, **headers), status, code)


class TestConcurrentCopies:
    """Eight copies of one signed request arrive together."""

    def send(self, keys):
        user = UserFactory()
        issued = issue(user)
        body = json.dumps({"provider_id": "901", "name": "A", "product_type": "personal_loan"}).encode()
        headers = signature_headers(issued, "POST", OFFERS, body)
        once = partial(ApiClient().call, "POST", OFFERS, raw=body, **headers)
        return run_concurrently(*[partial(once, key=key) for key in keys])

    @pytest.mark.parametrize("keys", [[None] * 8, [None, *(str(uuid.uuid4()) for _ in range(7))]])
    def test_one_of_8_concurrent_copies_of_a_signed_request_is_executed(self, committed, keys):
        answers = self.send(keys)
        assert sorted(answer.status_code for answer in answers) == [201] + [401] * 7
        assert {answer.json()["code"] for answer in answers if answer.status_code == 401} == {"E2007"}
        assert Offer.objects.count() == 1

    def test_concurrent_signed_copies_with_one_key_create_one_offer(self, committed):
        answers = self.send([FIRST_KEY] * 8)
        # During the first request, PostgreSQL makes the other requests wait or fail with 409.
        assert {answer.status_code for answer in answers} <= {201, 409}
        assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
        assert Offer.objects.count() == 1


def test_a_signed_get_can_be_repeated_with_the_same_signature(issued, user):
    headers = signature_headers(issued, "GET", ME)
    assert [ApiClient().read("/auth/me", **headers).json()["id"] for _ in range(2)] == [user.pk] * 2


def test_a_used_signature_is_stored_while_its_timestamp_is_valid(issued, body):
    signed_call(issued, "POST", OFFERS, body)
    row = UsedSignature.objects.get()
    left = row.expires_at - timezone.now()
    assert timedelta(seconds=590) < left <= timedelta(seconds=600)


def test_signed_body_above_the_size_limit_returns_413(issued):
    body = b'{"a": "' + b"x" * 1_048_576 + b'"}'
    assert_error(signed_call(issued, "POST", OFFERS, body), 413, "E1007")
    assert UsedSignature.objects.count() == 0


def test_request_signed_with_a_scoped_key_has_the_scopes_of_the_key(user):
    limited = issue(user, scopes=["offers:read"])
    assert_error(signed_call(limited, "GET", "/v1/applications"), 403, "E2005")
