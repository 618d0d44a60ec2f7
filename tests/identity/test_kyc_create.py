"""Test POST /v1/kyc/create, and how `prune` and `stage_bank_accounts` continue its work."""

from datetime import datetime, timedelta

import pytest

from config.core.ids import parse_uuid
from identity.kyc.models import KycVerification, KycVerificationHistory
from identity.kyc.services import apply_state
from identity.models import BankItem
from identity.providers.choice import open_banking
from identity.providers.models import SandboxVerification
from staging.models import StagedItem
from tests.api import assert_error, client_of
from tests.commands import run_json
from tests.identity.banking import CREATE, age, events_of, read, row_of, start, statuses_of, submit_outcome
from tests.identity.plaid_double import Fault
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db


def test_identity_verification_request_starts_a_verification(api, user):
    shown = start(api)
    assert set(shown) == {
        "verification_id", "user_id", "status", "provider", "provider_status", "steps", "hosted_url", "expires_at",
        "attempt", "previous_attempt_id", "last_error", "name_match", "created_at", "completed_at",
    }  # fmt: skip
    assert parse_uuid(shown["verification_id"]).version == 7
    assert shown["user_id"] == str(user.pk)
    assert (shown["status"], shown["provider"], shown["provider_status"]) == ("requires_input", "sandbox", "active")
    assert read(api, shown["verification_id"]).json() == shown
    assert shown["hosted_url"].startswith("http://127.0.0.1:8000/v1/kyc/sandbox/")
    assert shown["steps"]["accept_tos"] == "active"
    assert (shown["attempt"], shown["previous_attempt_id"], shown["last_error"]) == (1, None, None)
    assert row_of(shown).user == user
    fields = {"verification_id": shown["verification_id"], "status": "requires_input", "attempt": 1}
    assert events_of(user, "kyc.") == [("kyc.verification.created", fields)]


def test_identity_verification_with_an_invalid_redirect_uri_is_rejected(api):
    for uri in (
        "javascript:alert(1)", "ftp://example.org/", "https://", "https://user@example.org/", "http://[::1", "/",
        "https://example.org:99999/", "https://[::1]x/", "https://1.2.3/", "https://xn--a.example/",
        "https://exämple.org/", "https://example.org/a b", "https://example.org\n/", "https://example.org\\x",
        "https://example.org/\u202e",
    ):  # fmt: skip
        assert_error(api.send(CREATE, {"redirect_uri": uri}), 400, "E1001")
    assert SandboxVerification.objects.count() == 0


def test_repeated_identity_verification_request_returns_the_open_verification(api, user):
    uris = (
        "https://example.org/", "https://example.org/done", "https://example.org/done?x=1", "http://127.0.0.1:3000/",
        "https://example.org/#/done", "https://example.org/hecho/ñ", "https://[2001:db8::1]:8443/",
    )  # fmt: skip
    for number, body in enumerate(({}, *({"redirect_uri": uri} for uri in uris), {"template_id": "idv_2"}), start=1):
        first = start(api, body)
        assert (start(api, body), first["attempt"]) == (first, number)
    assert KycVerification.objects.count() == SandboxVerification.objects.count() == number


def test_identity_verification_that_ended_at_the_vendor_is_not_reused(plaid, api, settings):
    settings.PLAID_TEMPLATE_ID = "idvtmp_1"
    first = start(api)
    plaid.settle(row_of(first).provider_reference, "canceled")
    second = start(api)
    assert (second["attempt"], second["previous_attempt_id"]) == (2, first["verification_id"])
    assert read(api, first["verification_id"]).json()["status"] == "canceled"


def test_identity_verification_with_another_redirect_uri_cancels_the_open_verification(api, user):
    first, second = start(api), start(api, {"redirect_uri": "https://example.org/"})
    assert (second["attempt"], second["previous_attempt_id"]) == (2, first["verification_id"])
    shown = read(api, first["verification_id"]).json()
    assert (shown["status"], shown["hosted_url"]) == ("canceled", None)
    assert shown["completed_at"]
    (move,) = KycVerificationHistory.objects.all()
    assert (move.previous_status, move.status, move.principal) == ("requires_input", "canceled", user)
    assert statuses_of(user) == ["requires_input", "canceled", "requires_input"]


def test_started_identity_verification_is_returned_for_any_template_and_redirect_uri(plaid, api, settings):
    settings.PLAID_TEMPLATE_ID = "idvtmp_1"
    first = start(api)
    row = row_of(first)
    plaid.settle(row.provider_reference, "active", accept_tos="success", kyc_check="success")
    apply_state(row, open_banking().read_verification(row.provider_reference), now=row.created_at)
    for body in ({}, {"redirect_uri": "https://example.org/"}, {"template_id": "idvtmp_2"}):
        again = start(api, body)
        assert (again["verification_id"], again["status"]) == (first["verification_id"], "processing")


def tried(api, plaid):
    """Return an attempt that the vendor failed."""
    shown = start(api)
    plaid.settle(row_of(shown).provider_reference, "failed")
    age(shown["verification_id"], refreshed_at=timedelta(seconds=11))
    assert read(api, shown["verification_id"]).json()["status"] == "failed"
    return shown


def test_identity_verification_attempts_without_submitted_data_are_not_counted(plaid, api, settings):
    settings.PLAID_TEMPLATE_ID = "idvtmp_1"
    for number in range(5):
        shown = start(api, {"redirect_uri": f"https://example.org/{number}"})
    for word in ("expired", "canceled", "expired", "canceled", "expired"):
        plaid.settle(row_of(shown).provider_reference, word)
        shown = start(api, {"redirect_uri": f"https://example.org/{word}/{shown['attempt']}"})
    assert shown["attempt"] == 10


def test_fourth_identity_verification_attempt_of_a_user_in_30_days_is_rejected(plaid, api, stranger_api, key, settings):
    settings.PLAID_TEMPLATE_ID = "idvtmp_1"
    shown = [tried(api, plaid) for _ in range(3)]
    refused = api.send(CREATE, {}, key=key)
    body = assert_error(refused, 400, "E3006")
    begun = datetime.fromisoformat(shown[0]["created_at"])
    assert datetime.fromisoformat(body["details"]["next_possible_at"]) == begun + timedelta(days=30)
    assert body["details"]["next_possible_at"] in body["message"]
    assert len(plaid.verifications) == 3
    assert start(stranger_api)["attempt"] == 1
    # A rejection by the domain is stored: the same key replays it, even after an attempt becomes free.
    age(shown[0]["verification_id"], created_at=timedelta(days=31))
    replay = api.send(CREATE, {}, key=key)
    assert replay.headers["Idempotent-Replayed"] == "true"
    assert replay.content == refused.content
    assert start(api)["attempt"] == 4


def test_identity_verification_request_matches_the_openapi_description_of_plaid(judged_plaid, api, user, settings):
    settings.PLAID_TEMPLATE_ID = "idvtmp_of_the_operator"
    shown = start(api)
    (request,) = judged_plaid.requests_at("/identity_verification/create")
    assert request["client_user_id"].startswith(f"{user.pk}-")
    assert (request["template_id"], request["is_idempotent"], request["is_shareable"]) == (
        "idvtmp_of_the_operator", True, True,
    )  # fmt: skip
    assert shown["provider"] == "plaid"
    assert shown["hosted_url"] == f"https://verify.double.example/verify/{row_of(shown).provider_reference}"
    start(api, {"template_id": "idvtmp_of_the_client"})
    assert judged_plaid.requests_at("/identity_verification/create")[1]["template_id"] == "idvtmp_of_the_client"


def test_identity_verification_during_a_vendor_outage_returns_502_and_stores_nothing(api, user, key, settings):
    settings.OPEN_BANKING, settings.PLAID_BASE_URL = "plaid", "http://127.0.0.1:9"
    assert_error(api.send(CREATE, {}, key=key), 502, "E5003")
    assert KycVerification.objects.count() == 0
    assert events_of(user, "kyc.") == []
    settings.OPEN_BANKING = "sandbox"
    assert start(api, key=key)["attempt"] == 1


def test_identity_verification_retry_after_a_lost_response_creates_no_second_verification(plaid, api, key):
    plaid.fail("/identity_verification/create", Fault(502, b""))
    assert_error(api.send(CREATE, {}, key=key), 502, "E5003")
    start(api, key=key)
    first, second = plaid.requests_at("/identity_verification/create")
    assert first == second
    assert len(plaid.verifications) == 1


def test_identity_verification_calls_the_vendor_outside_of_database_transactions(
    committed, plaid, user, key, waiting_transactions
):
    start(client_of(user), key=key)
    assert waiting_transactions == [False]


def test_concurrent_identity_verification_requests_create_one_verification(committed, needs_postgresql, user):
    client = client_of(user)
    answers = run_concurrently(*[lambda: client.send(CREATE, {})] * 8)
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
    assert list(KycVerification.objects.values_list("status", flat=True)) == ["requires_input"]


def test_concurrent_requests_with_one_idempotency_key_create_one_identity_verification(
    committed, needs_postgresql, user, key
):
    client = client_of(user)
    answers = run_concurrently(*[lambda: client.send(CREATE, {}, key=key)] * 10)
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.content for answer in answers if answer.status_code == 200}) == 1
    assert KycVerification.objects.count() == 1


def test_concurrent_identity_verification_attempts_do_not_exceed_the_limit(
    committed, needs_postgresql, user, plaid, settings
):
    settings.PLAID_TEMPLATE_ID = "idvtmp_1"
    client = client_of(user)
    for _ in range(3):
        tried(client, plaid)
    answers = run_concurrently(*[lambda: client.send(CREATE, {})] * 8)
    assert [answer.status_code for answer in answers] == [400] * 8
    assert KycVerification.objects.count() == 3


def test_unstarted_identity_verification_expires(api, stranger_api, user):
    overdue, played = start(api), start(stranger_api)
    submit_outcome(played, "pass")
    for shown in (overdue, played):
        age(shown["verification_id"], expires_at=timedelta(hours=25))
    assert run_json("prune")["verifications_expired"] == 1
    assert run_json("prune")["verifications_expired"] == 0
    assert (row_of(overdue).status, row_of(played).status) == ("expired", "verified")
    assert statuses_of(user) == ["requires_input", "expired"]
    assert row_of(overdue).history.get().credential == "command:prune"


def test_bank_accounts_unreadable_during_the_exchange_are_staged_later(api, user):
    body = {"user_id": str(user.pk), "public_token": "public-sandbox-login-required-1"}
    answer = api.send("/bankdata/exchange", body).json()
    assert (answer["linked"], answer["staged_item_ids"]) == (True, [])
    assert run_json("stage_bank_accounts") == {"items": 1, "staged": 0, "not_removed": 0, "failed": 0}
    api.read(f"/bankdata/accounts/{user.pk}")  # The response contains a link token, which repairs the sandbox's item.
    assert run_json("stage_bank_accounts") == {"items": 1, "staged": 1, "not_removed": 0, "failed": 0}
    assert run_json("stage_bank_accounts") == {"items": 0, "staged": 0, "not_removed": 0, "failed": 0}
    assert StagedItem.objects.filter(user=user, kind="bank_account").count() == 3
    assert BankItem.objects.get().accounts_staged_at is not None
