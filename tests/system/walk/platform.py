"""Call the platform operations whose recorded example is not sufficient, with the demo account.

`Service.call_rest` calls the other operations with their recorded examples.
"""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from config.ops import demo_ids
from tests.system.walk.service import Service, WalkFailed

ANCHOR_SECONDS = 120  # the maximum time until the worker anchors a decision
TAKES_LOG_IN = re.compile("auth_collect|(api_key|oauth_client|account_invitation|account_erasure|account_export)s_")


def walk(service: Service, demo: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Call every operation; return the ID of a webhook endpoint, and a decision bundle."""
    me = str(demo["user_id"])
    if me != str(demo_ids.DEMO_USER):
        raise WalkFailed(f"The demo account is user {me}: the examples use user {demo_ids.DEMO_USER}.")
    _log_in(service, demo)
    _apply(service)
    _decide(service)
    _deliver_notice(service)
    _stage(service, me)
    receiver = {"url": "http://127.0.0.1:9000/hook", "event_types": ["webhook.test"]}
    endpoint = str(service.call("POST /v1/webhooks/endpoints", receiver)["id"])
    # Only vendors can sign these messages, and the sandbox sends no message.
    service.call("POST /v1/kyc/provider-events", {}, status=401)
    service.call("POST /v1/payments/processor-events", {}, status=401)
    path = "/v1/applications/{application_id}/decision-bundle"
    bundle: dict[str, Any] = service.call(f"GET {path}", application_id=demo_ids.SCORED)
    service.call_rest()
    return endpoint, bundle


def _log_in(service: Service, demo: dict[str, Any]) -> None:
    """Call the operations that require a log-in instead of an API key."""
    key, service.headers = service.headers, {}
    issued = service.call("POST /v1/auth/token", {"username": demo["username"], "password": demo["password"]})
    service.headers = {"Authorization": f"Bearer {issued['access_token']}"}
    service.call("POST /v1/account/erasure", status=400)  # the account has open applications
    service.call("GET /v1/account/exports/{export_id}/file", status=404, export_id=demo_ids.EXPORT)
    service.call_rest(TAKES_LOG_IN)
    service.headers = {}
    issued = service.call("POST /v1/auth/refresh", {"refresh_token": issued["refresh_token"]})
    service.call("POST /v1/auth/revoke", {"refresh_token": issued["refresh_token"]})
    # An authorization code requires a browser. tests/identity/test_oauth_*.py test the flow with a browser.
    unknown_client = {"client_id": "unknown", "client_secret": "unknown"}
    service.call(
        "POST /v1/oauth/token", {"grant_type": "refresh_token", "refresh_token": "none", **unknown_client}, status=401
    )
    service.call("POST /v1/oauth/revoke", {"token": "none", **unknown_client}, status=401)
    service.headers = key
    of_expired = {"account_id": demo_ids.MANAGED_USER, "export_id": demo_ids.MANAGED_EXPORT}
    service.call("GET /v1/accounts/{account_id}/exports/{export_id}/file", status=404, **of_expired)


def _apply(service: Service) -> None:
    """Upload a file, and call operations that return 403 or 404 for the demo account."""
    files = "/v1/applications/{application_id}/documents/{document_id}/files"
    requested_document = {"application_id": demo_ids.WAITS_FOR_DOCUMENTS, "document_id": demo_ids.DOCUMENT_ASKED_FOR}
    service.call(f"POST {files}", b"%PDF-1.4\n%%EOF\n", **requested_document)
    path, of = "/v1/applications/{application_id}", {"application_id": demo_ids.SCORED}
    # The demo has no four-eyes approval, so no decision waits for a second reviewer.
    service.call(f"DELETE {path}/pending-decision", status=404, **of)
    # The demo's offers follow US law, without the European precontract form and the right of withdrawal.
    service.call("GET /v1/provider-offers/{offer_id}/precontract", offer_id=demo_ids.OFFER, status=404)
    service.call(f"GET {path}/precontract", **of, status=404)
    service.call(f"GET {path}/withdrawal", **of, status=404)
    service.call(f"POST {path}/withdrawal", {}, **of, status=404)
    # A hold requires a member of `Operations`.
    service.call(f"GET {path}/hold", **of, status=403)
    service.call(f"PUT {path}/hold", {"on": True, "reason": "Case 26-1"}, **of, status=403)
    # The demo account is the applicant. Applicants can't add facts to an application.
    answer = {"status": "refused", "reason": "The payslip shows it."}
    correction = {**of, "correction_id": demo_ids.CORRECTION}
    service.call(f"PUT {path}/corrections/{{correction_id}}", answer, **correction, status=403)
    figure = {"pointer": "/monthly_income_cents", "value": 315_000, "file_id": str(demo_ids.DOCUMENT_FILE)}
    of = {"application_id": demo_ids.WAITS_FOR_DOCUMENTS}
    service.call(f"POST {path}/confirmations", figure, **of, status=403)
    service.call(f"POST {path}/score", **of, status=403)
    report = {"kind": "credit", "purpose": "credit_transaction"}
    service.call(f"POST {path}/reports", report, **of, status=403)


def _decide(service: Service) -> None:
    """Create counteroffers, decline and withdraw them, and wait until a decision is anchored."""
    of, path = {"application_id": demo_ids.SUBMITTED}, "/v1/applications/{application_id}/counteroffers"
    move = {"status": "under_review", "updated_by": str(demo_ids.DEMO_USER)}
    service.call("PUT /v1/applications/{application_id}/status", move, **of)
    until = (datetime.now(UTC) + timedelta(days=14)).strftime("%Y-%m-%dT%H:%M:%SZ")
    terms = {"amount_cents": 400_000, "rate_percent": 10.5, "term_months": 12}
    body = {"terms": terms, "reasons": ["income_insufficient"], "expires_at": until}
    for method, ending in (("POST", "/decline"), ("DELETE", "")):
        response_id = service.call(f"POST {path}", body, **of)["id"]
        service.call(f"{method} {path}/{{counteroffer_id}}{ending}", **of, counteroffer_id=response_id)
    of, deadline = {"application_id": demo_ids.SCORED}, time.monotonic() + ANCHOR_SECONDS
    while service.call("GET /v1/applications/{application_id}/proof", **of)["status"] != "anchored":
        if time.monotonic() > deadline:
            raise WalkFailed(f"A decision is not anchored after {ANCHOR_SECONDS} s.")
        time.sleep(0.05)


def _deliver_notice(service: Service) -> None:
    """Wait until a notice is created, and record its delivery by post."""
    named = {"name": "Cedar Lending", "address": "1 Bank Street, Ames, IA 50010"}
    service.call("PUT /v1/providers/{provider_id}", named, provider_id=demo_ids.OWN_PROVIDER)
    of, path = {"application_id": demo_ids.SCORED}, "/v1/applications/{application_id}/notices"
    deadline = time.monotonic() + ANCHOR_SECONDS
    while (notice := service.call(f"GET {path}", **of)["notices"][0])["status"] == "due":
        if time.monotonic() > deadline:
            raise WalkFailed(f"A notice is not created after {ANCHOR_SECONDS} s.")
        time.sleep(0.05)
    fields = {**of, "notice_id": notice["id"]}
    posted = {"channel": "post", "at": datetime.now(UTC).isoformat(), "reference": "RR 123 456 789 US"}
    service.call(f"POST {path}/{{notice_id}}/deliveries", posted, **fields)
    service.call(f"GET {path}/{{notice_id}}", **fields)


def _stage(service: Service, me: str) -> None:
    """Approve a staged item, and reject another staged item."""
    service.call("POST /v1/staging/approve/{item_id}", {"user_id": me}, item_id=demo_ids.NOTE_TO_APPROVE)
    service.call("POST /v1/staging/reject/{item_id}", {"user_id": me}, item_id=demo_ids.NOTE_TO_REJECT)


def advance_clock(service: Service, key: str) -> None:
    """Advance the clock of a separate account, because its records expire. `key` is the account's API key."""
    demo, service.headers = service.headers, {"X-API-Key": key}
    me = service.call("GET /v1/auth/me")["user_id"]
    service.call("POST /v1/applications", {"consumer_id": me, "offer_id": 1, "provider_id": 1001})
    done = service.call("POST /v1/sandbox/clock", {"advance_seconds": 31 * 86_400})["done"]
    if done["applications_expired"] != 1:
        raise WalkFailed(f"No application has expired after 31 days: {done}")
    service.headers = demo


def hold(service: Service, key: str) -> None:
    """Set and release a litigation hold on an application, with the API key of a member of `Operations`."""
    demo, service.headers = service.headers, {"X-API-Key": key}
    path, of = "/v1/applications/{application_id}/hold", {"application_id": demo_ids.REJECTED}
    for on in (True, False):
        service.call(f"PUT {path}", {"on": on, "reason": "Case 26-1"}, **of)
        if service.call(f"GET {path}", **of)["on"] is not on:
            raise WalkFailed("A litigation hold did not change.")
    service.headers = demo
