"""Test that an Idempotency-Key executes a request once, replays its response, and does not store some responses."""

import json
import threading
import uuid
from datetime import timedelta

import pytest
from django.db import OperationalError, connections
from django.utils import timezone

from config.api import idempotency
from config.api.models import IdempotencyRecord
from config.api.rate_limits import _lots
from config.core.errors import NotFound, Unavailable
from config.core.idempotency_keys import RequestInProgress
from credit.applications import services as applications
from credit.models import Application, Offer
from identity.access.keys import rotate_api_key
from tests.api import ApiClient, assert_error, client_of
from tests.factories import PASSWORD, ApplicationFactory, OfferFactory, ProviderFactory, UserFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
KEY = "0192b3c4-d5e6-7f80-9a1b-2c3d4e5f6a7b"
PATH = "/applications"


@pytest.fixture
def body(user):
    """Return a body that creates an application."""
    return {"consumer_id": str(user.pk), "offer_id": 7, "provider_id": 8}


def same(first, second):
    """Assert that the second response replays the first."""
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert "Idempotent-Replayed" not in first.headers


UUIDS = [
    # RFC 9562, appendixes A and B: versions 1, 3 to 8; sections 5.9 and 5.10; 6.6 (namespaces); RFC 4122
    "C232AB00-9414-11EC-B3C8-9F6BDECED846", "5df41881-3aed-3515-88a7-2f4a814cf09e",
    "919108f7-52d1-4320-9bac-f847db4148a8", "2ed6657d-e927-568b-95e1-2665a8aea6a2",
    "1EC9414C-232A-6B00-B3C8-9F6BDECED846", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
    "2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", "5c146b14-3c52-8afd-938a-375d0df1fbf6",
    "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    '"8e03978e-40d5-43dd-bc93-6894a57f9324"',  # The key is from the IETF draft of the header.
]  # fmt: skip


class TestForms:
    def test_idempotency_key_that_is_not_a_uuid_returns_400(self, api, body):
        for key in (
            "", " ", "abc", "1", KEY[:-1], KEY + "0", KEY.replace("-", ""), f"{{{KEY}}}", f"urn:uuid:{KEY}", "x" * 256,
            f"'{KEY}'", f'"{KEY}', f'{KEY}"', f'""{KEY}""', f"{KEY},{KEY}", f"{KEY}, {KEY}", f" {KEY}x", "\u0661" * 8,
            KEY.replace("0", "g"), f'"{KEY}";a=1',
            # These identifiers are ULID, KSUID, NanoID, CUID, ObjectId, Snowflake, and .NET's forms N, B, P, and X.
            "01ARZ3NDEKTSV4RRFFQ69G5FAV", "0ujsswThIGTUYm2K8FjOOfXtY1K", "V1StGXR8_Z5jdHi6B-myT",
            "cjld2cjxh0000qzrmn831i7rn", "507f1f77bcf86cd799439011", "1541815603606036480",
            "f47ac10b58cc4372a5670e02b2c3d479",
            "(f47ac10b-58cc-4372-a567-0e02b2c3d479)",
            "{0xf47ac10b,0x58cc,0x4372,{0xa5,0x67,0x0e,0x02,0xb2,0xc3,0xd4,0x79}}",
            "f47ac10b-58cc-4372-a5670e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d479-1", ":8IDgUi:",
            "f47ac10b\u201058cc\u20104372\u2010a567\u20100e02b2c3d479", "pi_3MtwBwLkdIwHu7ix28a3tqPa",
        ):  # fmt: skip
            assert_error(api.send(PATH, body, key=key.encode().decode("latin-1")), 400, "E1008")
        assert Application.objects.count() == IdempotencyRecord.objects.count() == 0

    def test_idempotency_key_is_compared_case_insensitively(self, api, body):
        for key in UUIDS:
            first = api.send(PATH, body, key=key)
            assert first.status_code == 201, key
            same(first, api.send(PATH, body, key=key.strip('"').swapcase()))


class TestReplay:
    def test_idempotent_retry_with_reordered_json_keys_and_whitespace_is_replayed(self, api, body):
        first = api.send(PATH, {**body, "application_data": {"a": 1, "b": [1, 2]}}, key=KEY)
        text = json.dumps({"application_data": {"b": [1, 2], "a": 1}, **dict(reversed(body.items()))}, indent=3)
        same(first, api.send(PATH, raw=text.encode(), key=KEY))

    def test_idempotent_retry_after_credential_rotation_is_replayed(self, user, body):
        old = issue(user)
        first = ApiClient(api_key=old.key).send(PATH, body, key=KEY)
        new = rotate_api_key(old.record, now=timezone.now(), grace=timedelta(0))
        same(first, ApiClient(api_key=new.key).send(PATH, body, key=KEY))
        same(first, client_of(user).send(PATH, body, key=KEY))

    def test_two_accounts_can_use_the_same_idempotency_key(self, api, stranger, stranger_api, body):
        first = api.send(PATH, body, key=KEY)
        other = stranger_api.send(PATH, {**body, "consumer_id": str(stranger.pk)}, key=KEY)
        assert (first.status_code, other.status_code) == (201, 201)
        assert "Idempotent-Replayed" not in other.headers
        assert Application.objects.count() == 2

    def test_idempotent_replay_requires_a_credential(self, api, anonymous, body):
        api.send(PATH, body, key=KEY)
        assert_error(anonymous.send(PATH, body, key=KEY), 401, "E2001")


class TestMismatch:
    def test_idempotency_key_with_another_body_returns_422(self, api, body):
        api.send(PATH, body, key=KEY)
        assert_error(api.send(PATH, {**body, "offer_id": 9}, key=KEY), 422, "E1010")
        assert_error(api.send(PATH, {**body, "unknown": 1}, key=KEY), 422, "E1010")
        assert_error(api.send(PATH, {**body, "application_data": None}, key=KEY), 422, "E1010")
        assert Application.objects.count() == 1

    def test_idempotency_key_with_another_number_type_returns_422(self, api, body):
        api.send(PATH, {**body, "application_data": 1}, key=KEY)
        assert_error(api.send(PATH, {**body, "application_data": 1.0}, key=KEY), 422, "E1010")
        assert_error(api.send(PATH, {**body, "application_data": True}, key=KEY), 422, "E1010")

    def test_idempotency_key_with_another_path_or_method_returns_422(self, api, user):
        offer = OfferFactory(provider=ProviderFactory(owner=user))
        other = OfferFactory(provider=offer.provider)
        members = {"provider_id": offer.provider_id, "name": "A", "product_type": "x"}
        api.replace(f"/provider-offers/{offer.pk}", members, key=KEY)
        assert_error(api.replace(f"/provider-offers/{other.pk}", members, key=KEY), 422, "E1010")
        assert_error(api.send("/provider-offers", members, key=KEY), 422, "E1010")
        assert_error(api.remove(f"/provider-offers/{offer.pk}", key=KEY), 422, "E1010")
        assert Offer.objects.count() == 2


class TestStoredResponses:
    def test_rejected_transition_is_replayed_for_the_same_idempotency_key(self, api, user):
        application = ApplicationFactory(consumer=user)
        path, members = f"{PATH}/{application.id}/status", {"status": "approved", "updated_by": "me"}
        first = api.replace(path, members, key=KEY)
        assert_error(first, 400, "E3001")
        Application.objects.update(status="under_review")
        same(first, api.replace(path, members, key=KEY))

    def test_not_found_response_is_replayed_for_the_same_idempotency_key(self, api, user):
        identifier = str(uuid.uuid4())
        path, members = f"{PATH}/{identifier}", {"updated_by": "me"}
        first = api.replace(path, members, key=KEY)
        assert_error(first, 404, "E4002")
        ApplicationFactory(id=identifier, consumer=user)
        same(first, api.replace(path, members, key=KEY))

    def test_another_request_with_the_idempotency_key_of_a_stored_rejection_returns_422(self, api):
        api.replace(f"{PATH}/{uuid.uuid4()}", {"updated_by": "me"}, key=KEY)
        assert_error(api.replace(f"{PATH}/{uuid.uuid4()}", {"updated_by": "me"}, key=KEY), 422, "E1010")


class TestResponsesThatAreNotStored:
    """Test that a client can retry with the same key after it has fixed the cause of an error."""

    def test_idempotency_key_can_be_reused_if_the_request_was_rejected_before_execution(
        self, api, user, stranger, anonymous, body
    ):
        limited = ApiClient(api_key=issue(user, scopes=["offers:read"]).key)
        assert_error(anonymous.send(PATH, body, key=KEY), 401, "E2001")
        assert_error(limited.send(PATH, body, key=KEY), 403, "E2005")
        assert_error(api.send(PATH, {**body, "consumer_id": str(stranger.pk)}, key=KEY), 401, "E2004")
        assert_error(api.send(PATH, {**body, "offer_id": "7"}, key=KEY), 400, "E1001")
        assert_error(api.send(PATH, raw=b"{", key=KEY), 400, "E1002")
        assert_error(api.send(PATH, {**body, "initial_status": "bogus"}, key=KEY), 400, "E1004")
        assert_error(api.call("PATCH", PATH, body, key=KEY), 405, "E4050")
        assert_error(api.send(PATH, body, key=KEY, content_type="text/plain"), 415, "E1013")
        assert_error(api.send(PATH, raw=b" " * 1_048_577, key=KEY), 413, "E1007")
        assert_error(api.send(PATH, body, key=KEY, Accept="text/html"), 406, "E1014")
        assert IdempotencyRecord.objects.count() == 0
        assert api.send(PATH, body, key=KEY).status_code == 201

    def test_idempotency_key_can_be_reused_after_a_rate_limited_request(self, api, body, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 0}
        assert_error(api.send(PATH, body, key=KEY), 429, "E6001")
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 100}
        _lots.clear()
        assert api.send(PATH, body, key=KEY).status_code == 201

    def test_idempotency_key_can_be_reused_after_a_403_for_missing_decision_permission(self, api, user, settings):
        settings.REVIEW_POLICY = "reviewed"
        application = ApplicationFactory(consumer=user, status="submitted")
        path, members = f"{PATH}/{application.id}/status", {"status": "under_review", "updated_by": "me"}
        assert_error(api.replace(path, members, key=KEY), 403, "E2010")
        settings.REVIEW_POLICY = "open"
        assert api.replace(path, members, key=KEY).status_code == 200

    def test_idempotency_key_can_be_reused_after_a_rejection_for_a_closed_offer(self, api, body):
        offer = OfferFactory(is_active=False)
        body["offer_id"] = offer.pk
        assert_error(api.send(PATH, body, key=KEY), 400, "E1011")
        Offer.objects.update(is_active=True)
        assert api.send(PATH, body, key=KEY).status_code == 201

    @pytest.mark.parametrize(
        ("fault", "status", "code"), [(RuntimeError, 500, "E5000"), (OperationalError, 503, "E5030")]
    )
    def test_idempotency_key_can_be_reused_after_an_internal_error(self, api, body, monkeypatch, fault, status, code):
        def fail(*_args, **_options):
            raise fault("the event could not be written")

        with monkeypatch.context() as patch:
            patch.setattr("credit.models.applications.record_event", fail)
            response = api.send(PATH, body, key=KEY)
        assert_error(response, status, code)
        if status == 503:
            assert response.headers["Retry-After"] == "1"
        assert Application.objects.count() == IdempotencyRecord.objects.count() == 0
        assert api.send(PATH, body, key=KEY).status_code == 201

    def test_idempotency_key_of_a_read_or_a_log_in_is_ignored(self, api, anonymous, user):
        assert api.read(PATH, Idempotency_Key="not a uuid").status_code == 200
        log_in = {"username": user.username, "password": PASSWORD}
        answers = [anonymous.send("/auth/token", log_in, key=KEY) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].content != answers[1].content
        assert IdempotencyRecord.objects.count() == 0


class TestTime:
    @pytest.mark.parametrize(("hours", "replayed"), [(71.99, True), (72.01, False)])
    def test_an_idempotency_key_is_stored_for_72_hours(self, api, body, hours, replayed):
        first = api.send(PATH, body, key=KEY)
        IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(hours=hours))
        second = api.send(PATH, body, key=KEY)
        assert second.status_code == 201
        assert (second.content == first.content) is replayed
        assert Application.objects.count() == (1 if replayed else 2)
        assert IdempotencyRecord.objects.count() == 1


class TestTransactions:
    class _Cause(Exception):
        def __init__(self, sqlstate):
            super().__init__(sqlstate)
            self.sqlstate = sqlstate

    def failing(self, times, sqlstate):
        """Return work that the database rejects a number of times."""
        tries = []

        def work():
            tries.append(1)
            if len(tries) <= times:
                raise OperationalError("no") from self._Cause(sqlstate)
            return idempotency.Outcome(200, b"done")

        return work, tries

    def test_transaction_is_retried_twice_and_only_for_retryable_errors(self):
        for sqlstate in ["40001", "40P01"]:
            work, tries = self.failing(2, sqlstate)
            assert idempotency.run_once(None, work).body == b"done", sqlstate
            assert len(tries) == 3, sqlstate
        for sqlstate in ["40001", "57P01"]:
            work, tries = self.failing(3, sqlstate)
            with pytest.raises(OperationalError):
                idempotency.run_once(None, work)
            assert len(tries) == (3 if sqlstate == "40001" else 1), sqlstate

    @pytest.mark.parametrize(("age_seconds", "runs"), [(89, False), (91, True)])
    def test_the_lease_of_an_idempotency_key_ends_after_ninety_seconds(self, user, age_seconds, runs):
        key = idempotency.ReservableKey(user.pk, uuid.UUID(KEY), "f")
        idempotency._claim_lease(key)
        IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(seconds=age_seconds))
        calls = []

        def work():
            calls.append(1)
            return idempotency.Outcome(201, b"done", seal=lambda body, place: body + place[:3].encode())

        if runs:
            assert [idempotency.run_leased(key, work).body for _ in range(2)] == [b"done", b"doneapi"]
        else:
            with pytest.raises(RequestInProgress):
                idempotency.run_leased(key, work)
        assert len(calls) == runs

    @pytest.mark.parametrize(("refusal", "records"), [(NotFound, 1), (Unavailable, 0), (RuntimeError, 0)])
    def test_only_rejections_by_domain_rules_are_stored_for_a_leased_idempotency_key(self, user, refusal, records):
        key = idempotency.ReservableKey(user.pk, uuid.UUID(KEY), "f")

        def fail():
            raise refusal

        if records:
            assert idempotency.run_leased(key, fail).status == idempotency.run_leased(key, fail).status == 404
        else:
            with pytest.raises(refusal):
                idempotency.run_leased(key, fail)
        assert IdempotencyRecord.objects.count() == records

    def test_slow_request_whose_lease_expired_returns_the_response_stored_by_the_retry(self, user):
        key = idempotency.ReservableKey(user.pk, uuid.UUID(KEY), "f")

        def pause():
            IdempotencyRecord.objects.all().delete()
            idempotency.run_leased(key, lambda: idempotency.Outcome(200, b"next"))
            return idempotency.Outcome(200, b"late")

        assert idempotency.run_leased(key, pause).body == b"next"

    def test_concurrent_second_execution_of_an_idempotent_request_returns_the_first_response(self, user, monkeypatch):
        """Simulates two executions that pass the lookup together, so that the constraint decides."""
        key = idempotency.ReservableKey(user.pk, uuid.UUID(KEY), "f")
        first = idempotency.run_once(key, lambda: idempotency.Outcome(201, b"first"))
        assert not first.replayed
        with monkeypatch.context() as patch:
            patch.setattr(idempotency.ReservableKey, "claim", lambda _key: None)
            second = idempotency.run_once(key, lambda: idempotency.Outcome(201, b"second"))
        assert (second.body, second.replayed) == (b"first", True)


def test_concurrent_request_with_the_same_idempotency_key_returns_409_with_retry_after(
    committed, needs_postgresql, settings
):
    user = UserFactory()
    body = {"consumer_id": str(user.pk), "offer_id": 7, "provider_id": 8}
    inside, go_on = threading.Event(), threading.Event()
    original = applications._check_offer

    def slow(*args):
        inside.set()
        assert go_on.wait(20)
        return original(*args)

    answers = []

    def first():
        try:
            answers.append(client_of(user).send(PATH, body, key=KEY))
        finally:
            connections.close_all()

    applications._check_offer = slow
    try:
        thread = threading.Thread(target=first)
        thread.start()
        assert inside.wait(20)
        busy = client_of(user).send(PATH, body, key=KEY)
        assert_error(busy, 409, "E3010")
        assert busy.headers["Retry-After"] == "1"
        another = client_of(user).send(
            "/provider-offers", {"provider_id": "p", "name": "n", "product_type": "x"}, key=True
        )
        assert another.status_code == 201
    finally:
        go_on.set()
        thread.join(20)
        applications._check_offer = original
    assert answers[0].status_code == 201
    same(answers[0], client_of(user).send(PATH, body, key=KEY))
