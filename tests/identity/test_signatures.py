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
    return issue(user)


@pytest.fixture
def body(user):
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


def test_request_signature_is_accepted_for_300_seconds(issued, user, monkeypatch):
    now = 1_800_000_000
    stop_clock(monkeypatch, "identity.access.signatures", float(now))
    for seconds in (-300, 300, -300):  # A signed GET can be repeated.
        headers = signature_headers(issued, "GET", ME, at=now + seconds)
        assert ApiClient().read("/auth/me", **headers).json()["id"] == user.pk
    for seconds in (-301, 301):
        headers = signature_headers(issued, "GET", ME, at=now + seconds)
        assert_error(ApiClient().read("/auth/me", **headers), 401, "E2008")


def test_malformed_signature_timestamp_is_rejected(issued):
    for form in (
        " {}", "{} ", "+{}", "0{}", "{}.0", "1.7e9", "", "-{}", "0x6553f100", "{}0", "\u0661\u0667" * 5, "{}\t",
    ):  # fmt: skip
        timestamp = form.format(int(time.time())).encode().decode("latin-1")
        headers = signature_headers(issued, "GET", ME, at=timestamp)
        assert_error(ApiClient().read("/auth/me", **headers), 401, "E2008")


def test_malformed_request_signature_or_signature_by_another_key_is_rejected(issued, user):
    headers = signature_headers(issue(user), "GET", ME, Authorization=f"Bearer {issued.key}")
    assert_error(ApiClient().read("/auth/me", **headers), 401, "E2006")
    good = signature_headers(issued, "GET", ME)
    signature = good["X-Service-Signature"]
    for bent in (
        signature.upper() if signature != signature.upper() else "A" * 64,
        base64.b64encode(bytes.fromhex(signature)).decode(), signature[:-1], signature + "0", signature[:-1] + "\xe9",
        "\u0660".encode().decode("latin-1") * 32, " " + signature, "sha256=" + signature, "", "0" * 64,
    ):  # fmt: skip
        response = ApiClient().read("/auth/me", **{**good, "X-Service-Signature": bent})
        assert_error(response, 401, "E2006")


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


def test_signed_body_without_a_leading_brace_is_rejected(issued, body):
    for start in (b" ", b"\n", b"[", b'"', b"x"):
        assert_error(signed_call(issued, "POST", OFFERS, start + body), 400, "E1002")


def test_signature_of_a_get_request_can_cover_or_omit_the_query(issued, body):
    path = "/v1/applications"
    assert_error(signed_call(issue(issued.record.owner, scopes=["offers:read"]), "GET", path), 403, "E2005")
    assert signed_call(issued, "GET", f"{path}?limit=5").status_code == 200
    assert signed_call(issued, "GET", path, sent=f"{path}?limit=5").status_code == 200
    assert_error(signed_call(issued, "GET", f"{path}?limit=1", sent=f"{path}?limit=99"), 401, "E2006")
    assert_error(signed_call(issued, "POST", OFFERS, body, sent=f"{OFFERS}?a=1"), 401, "E2006")
    assert signed_call(issued, "POST", f"{OFFERS}?a=1", body).status_code == 201


def test_signed_replay_with_its_idempotency_key_returns_the_first_response(issued, body):
    headers = signature_headers(issued, "POST", OFFERS, body)
    api = ApiClient()
    first = api.call("POST", OFFERS, raw=body, key=FIRST_KEY, **headers)
    for spelling in (FIRST_KEY, f'"{FIRST_KEY}"', FIRST_KEY.upper()):
        again = api.call("POST", OFFERS, raw=body, key=spelling, **headers)
        assert (first.status_code, again.status_code) == (201, 201)
        assert again.content == first.content
        assert again.headers["Idempotent-Replayed"] == "true"
    assert Offer.objects.count() == 1


def test_signed_replay_without_its_idempotency_key_is_rejected(issued, body):
    api = ApiClient()
    pairs = (
        (None, "new"), ("new", "other"), ("new", None), ("new", "no-uuid"), ("no-uuid", "no-uuid"), ("no-uuid", "new"),
        (None, ""), (None, None),
    )  # fmt: skip
    for first, then in pairs:
        body = body.replace(b'"A', b'"AA')  # The name of an offer is unique.
        headers = signature_headers(issued, "POST", OFFERS, body)
        keys = {None: None, "": "", "no-uuid": "no-uuid", "new": str(uuid.uuid4()), "other": OTHER_KEY}
        began = api.call("POST", OFFERS, raw=body, key=keys[first], **headers)
        assert began.status_code == (400 if first == "no-uuid" else 201), (first, then)
        assert_error(api.call("POST", OFFERS, raw=body, key=keys[then], **headers), 401, "E2007")
    assert Offer.objects.count() == 6


def test_signature_for_a_non_idempotent_operation_or_an_unknown_method_is_accepted_only_once(issued, user):
    path, body = "/v1/bankdata/link-token", json.dumps({"user_id": str(user.pk)}).encode()
    headers = signature_headers(issued, "POST", path, body)
    api = ApiClient()
    assert api.call("POST", path, raw=body, key=FIRST_KEY, **headers).status_code == 200
    for key in (FIRST_KEY, None):
        assert_error(api.call("POST", path, raw=body, key=key, **headers), 401, "E2007")
    headers = signature_headers(issued, "POST", ME, b"")
    assert_error(api.call("POST", ME, raw=b"", key=OTHER_KEY, **headers), 405, "E4050")
    assert_error(api.call("POST", ME, raw=b"", key=OTHER_KEY, **headers), 401, "E2007")


@pytest.mark.parametrize(("key", "status", "code"), [(None, 401, "E2007"), (FIRST_KEY, 400, "E1001")])
def test_failed_signed_request_can_be_retried_only_with_its_idempotency_key(issued, key, status, code):
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
    def test_only_one_of_8_concurrent_copies_of_a_signed_request_is_executed(self, committed, keys):
        answers = self.send(keys)
        assert sorted(answer.status_code for answer in answers) == [201] + [401] * 7
        assert {answer.json()["code"] for answer in answers if answer.status_code == 401} == {"E2007"}
        assert Offer.objects.count() == 1

    def test_concurrent_copies_of_a_signed_request_with_one_idempotency_key_create_one_offer(self, committed):
        answers = self.send([FIRST_KEY] * 8)
        # During the first request, PostgreSQL makes the other requests wait or fail with 409.
        assert {answer.status_code for answer in answers} <= {201, 409}
        assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
        assert Offer.objects.count() == 1


def test_a_used_signature_is_stored_while_its_timestamp_is_valid(issued, body):
    signed_call(issued, "POST", OFFERS, body)
    row = UsedSignature.objects.get()
    left = row.expires_at - timezone.now()
    assert timedelta(seconds=590) < left <= timedelta(seconds=600)


def test_signed_body_above_the_size_limit_returns_413(issued):
    body = b'{"a": "' + b"x" * 1_048_576 + b'"}'
    assert_error(signed_call(issued, "POST", OFFERS, body), 413, "E1007")
    assert UsedSignature.objects.count() == 0
