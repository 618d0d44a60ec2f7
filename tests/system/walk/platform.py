"""The operations of service A that depend on each other, as stories of the demo account.

`Service.call_rest` calls the others with their recorded examples.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from config.ops import demo_ids
from tests.system.walk.service import Service, WalkFailed

ADDRESS = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
# A scorecard that only looks at the income.
SCORECARD = {
    "inputs": [{"name": "income", "from": "application_data.monthly_income_cents", "type": "number"}],
    "base_points": 500,
    "characteristics": [
        {
            "name": "income", "input": "income", "reason": "income_insufficient", "baseline": 100,
            "bins": [{"missing": True, "points": 0}, {"below": 200_000, "points": 20}, {"points": 100}],
        }
    ],
    "outcomes": [{"outcome": "approve", "from": 600}, {"outcome": "decline"}],
}  # fmt: skip
APPLICANT = {
    "legal_name": "Dana Example", "email": "dana@example.com", "phone": "+15155550100", "date_of_birth": "1987-05-04",
    "address": {
        "line1": "12 Cedar Street", "city": "Ames", "region": "IA", "postal_code": "50010", "country": "US",
    },
    "language": "en-US",
}  # fmt: skip
ANCHOR_SECONDS = 120  # that the worker may take to carry a decision to the ledger


def walk(service: Service, demo: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Call every operation; return the id of a webhook endpoint that is still there, and the bundle of a decision."""
    me = str(demo["user_id"])
    if me != str(demo_ids.DEMO_USER):
        raise WalkFailed(f"The demo account is user {me}: the examples name user {demo_ids.DEMO_USER}.")
    _discover(service)
    _log_in(service, demo)
    _offer(service)
    _apply(service, me)
    _hand_in(service)
    _score(service)
    _decide(service, me)
    _act_as_provider(service)
    _tell(service)
    _claim(service, me)
    _stage(service, me)
    _verify(service)
    _link_bank(service, me)
    _pay(service, me)
    _pay_from_wallet(service, me)
    return _listen(service), _keep_evidence(service)


def _discover(service: Service) -> None:
    service.call("GET /.well-known/jwks.json")
    service.call("GET /.well-known/oauth-authorization-server")
    service.call("GET /.well-known/ucp")
    service.call("GET /v1/health")
    service.call("GET /v1/openapi.json")
    service.call("GET /v1/requests", query={"request_id": str(demo_ids.REQUEST)})
    service.call("GET /v1/ucp/catalog/items", query={"amount_cents": 500_000, "state": "IA", "explain": "true"})
    found = service.call(
        "POST /v1/ucp/catalog/search", {"query": "personal loan", "filters": {"price": {"max": 500_000}}}
    )
    product = found["products"][0]
    service.call("POST /v1/ucp/catalog/lookup", {"ids": [product["id"], product["variants"][0]["id"]]})
    service.call("POST /v1/ucp/catalog/product", {"id": product["id"]})


def _log_in(service: Service, demo: dict[str, Any]) -> None:
    key, service.headers = service.headers, {}
    issued = service.call("POST /v1/auth/token", {"username": demo["username"], "password": demo["password"]})
    service.headers = {"Authorization": f"Bearer {issued['access_token']}"}
    service.call("GET /v1/auth/me")
    service.call("POST /v1/auth/keys/{key_id}/collect", key_id=demo_ids.KEY_TO_COLLECT)
    _come_in(service)
    service.call("POST /v1/account/erasure", status=400)  # it has open applications
    service.call("GET /v1/account/erasure")
    service.call("DELETE /v1/account/erasure")
    export = service.call("POST /v1/account/exports")
    service.call("GET /v1/account/exports/{export_id}", export_id=export["id"])
    service.call("GET /v1/account/exports/{export_id}/file", status=404, export_id=demo_ids.EXPORT)
    service.headers = {}
    issued = service.call("POST /v1/auth/refresh", {"refresh_token": issued["refresh_token"]})
    service.call("POST /v1/auth/revoke", {"refresh_token": issued["refresh_token"]})
    # A code takes a browser: what happens with one is shown by tests/identity/test_oauth_*.py.
    nobody = {"client_id": "nobody", "client_secret": "nothing"}
    service.call("POST /v1/oauth/token", {"grant_type": "refresh_token", "refresh_token": "none", **nobody}, status=401)
    service.call("POST /v1/oauth/revoke", {"token": "none", **nobody}, status=401)
    service.headers = key


def _come_in(service: Service) -> None:
    """Make keys, OAuth clients, invitations and accounts of others, as whoever has logged in."""
    service.call("GET /v1/api-keys")
    service.call("POST /v1/api-keys", {"name": "Walker's server", "scopes": ["accounts:write"], "expires_days": 30})
    service.call("POST /v1/api-keys/{key_id}/rotate", {"grace_days": 7}, key_id=demo_ids.KEY_TO_ROTATE)
    service.call("DELETE /v1/api-keys/{key_id}", key_id=demo_ids.KEY_TO_REVOKE)
    app = {"name": "Walker's app", "redirect_uris": ["https://walker.example/callback"], "scopes": ["offers:read"]}
    clients, own = "/v1/oauth/clients", {"client_id": demo_ids.OAUTH_CLIENT}
    service.call(f"GET {clients}")
    service.call(f"POST {clients}", app)
    service.call(f"GET {clients}/{{client_id}}", **own)
    service.call(f"PATCH {clients}/{{client_id}}", {"scopes": ["offers:read", "applications:read"]}, **own)
    service.call(f"POST {clients}/{{client_id}}/rotate-secret", **own)
    service.call(f"DELETE {clients}/{{client_id}}", client_id=demo_ids.OAUTH_CLIENT_TO_DELETE)
    member = {"email": "teller@example.org", "role": "member", "provider_id": str(demo_ids.OWN_PROVIDER)}
    service.call("GET /v1/invitations")
    service.call("POST /v1/invitations", member)
    service.call("DELETE /v1/invitations/{invitation_id}", invitation_id=demo_ids.ACCOUNT_INVITATION)
    person = {"external_id": "customer-3", "email": "jane@example.org", "name": "Jane Doe"}
    service.call("POST /v1/accounts", person)
    service.call("GET /v1/accounts", query={"external_id": "customer-1"})
    of = {"account_id": demo_ids.MANAGED_USER}
    service.call("GET /v1/accounts/{account_id}", **of)
    scopes = {"scopes": ["applications:read", "applications:write"]}
    service.call("POST /v1/accounts/{account_id}/tokens", scopes, **of)
    for method in ("POST", "GET", "DELETE"):
        service.call(f"{method} /v1/accounts/{{account_id}}/erasure", **of)
    export = service.call("POST /v1/accounts/{account_id}/exports", **of)["id"]
    service.call("GET /v1/accounts/{account_id}/exports/{export_id}", export_id=export, **of)
    of_expired = {"account_id": demo_ids.MANAGED_USER, "export_id": demo_ids.MANAGED_EXPORT}
    service.call("GET /v1/accounts/{account_id}/exports/{export_id}/file", status=404, **of_expired)
    service.call("DELETE /v1/accounts/{account_id}", account_id=demo_ids.MANAGED_TO_DISABLE)


def _offer(service: Service) -> None:
    terms = {"provider_id": str(demo_ids.OWN_PROVIDER), "name": "Walker's loan", "product_type": "personal_loan"}
    service.call("POST /v1/provider-offers", terms)
    service.call("GET /v1/provider-offers", query={"provider_id": str(demo_ids.PROVIDER)})
    service.call("GET /v1/provider-offers/{offer_id}", offer_id=demo_ids.OFFER)
    service.call("GET /v1/provider-offers/{offer_id}/automation", offer_id=demo_ids.OFFER)
    # The offer follows the law of the United States, which has no European information form.
    service.call("GET /v1/provider-offers/{offer_id}/precontract", offer_id=demo_ids.OFFER, status=404)
    loan = {"amount_cents": 500_000, "term_months": 12, "apr_percent": "9.5"}
    service.call("GET /v1/provider-offers/{offer_id}/quote", query=loan, offer_id=demo_ids.OFFER)
    service.call("GET /v1/provider-offers/{offer_id}/requirements", offer_id=demo_ids.ASKING_OFFER)
    asks = {
        "application_schema": {
            "type": "object",
            "properties": {"amount_cents": {"type": "integer", "title": "Amount", "minimum": 100_000}},
            "required": ["amount_cents"],
        },
        "required_documents": ["Payslip of last month"],
        "applicant_requires": ["email", "phone"],
    }
    better = {**terms, **asks, "name": "Walker's better loan"}
    service.call("PUT /v1/provider-offers/{offer_id}", better, offer_id=demo_ids.OWN_OFFER)
    link = {"offer_id": demo_ids.OWN_OFFER, "prefill": {"application_data": {"amount_cents": 800_000}}}
    service.call("POST /v1/providers/{provider_id}/application-links", link, provider_id=demo_ids.OWN_PROVIDER)
    service.call("DELETE /v1/provider-offers/{offer_id}", offer_id=demo_ids.OWN_OFFER)


def _apply(service: Service, me: str) -> None:
    wanted = {"consumer_id": me, "offer_id": demo_ids.OFFER, "provider_id": demo_ids.PROVIDER}
    data = {"amount_cents": 500_000, "term_months": 24, "monthly_income_cents": 320_000}
    service.call("POST /v1/applications", {**wanted, "application_data": data, "applicants": [APPLICANT]})
    service.call("GET /v1/applications", query={"consumer_id": me, "status": "approved"})
    service.call("GET /v1/applications/{application_id}", application_id=demo_ids.APPROVED)
    service.call("GET /v1/applications/{application_id}/history", application_id=demo_ids.APPROVED)
    service.call("GET /v1/applications/{application_id}/transitions", application_id=demo_ids.UNDER_REVIEW)
    service.call("GET /v1/applications/{application_id}/requirements", application_id=demo_ids.UNDER_REVIEW)
    change = {"updated_by": me, "notes": "Walked."}
    service.call("PUT /v1/applications/{application_id}", change, application_id=demo_ids.DRAFT)
    # Nothing waits for a second reviewer where one decides.
    service.call(
        "DELETE /v1/applications/{application_id}/pending-decision", application_id=demo_ids.SCORED, status=404
    )
    # The demo account is the applicant, who adds no facts to their own application.
    figure = {"pointer": "/monthly_income_cents", "value": 315_000, "file_id": str(demo_ids.DOCUMENT_FILE)}
    of = {"application_id": demo_ids.WAITS_FOR_DOCUMENTS}
    service.call("POST /v1/applications/{application_id}/confirmations", figure, **of, status=403)
    service.call("POST /v1/applications/{application_id}/score", **of, status=403)
    report = {"kind": "credit", "purpose": "credit_transaction"}
    service.call("POST /v1/applications/{application_id}/reports", report, **of, status=403)
    service.call("GET /v1/applications/{application_id}/reports", **of)
    service.call("GET /v1/applications/{application_id}/reports/{report_id}", **of, report_id=demo_ids.REPORT)
    answer = {"status": "refused", "reason": "The payslip shows it."}
    of = {"application_id": demo_ids.SCORED, "correction_id": demo_ids.CORRECTION}
    service.call("PUT /v1/applications/{application_id}/corrections/{correction_id}", answer, **of, status=403)


def _hand_in(service: Service) -> None:
    of = {"application_id": demo_ids.WAITS_FOR_DOCUMENTS}
    service.call("GET /v1/applications/{application_id}/documents", **of)
    files = "/v1/applications/{application_id}/documents/{document_id}/files"
    received = {**of, "document_id": demo_ids.DOCUMENT_RECEIVED}
    service.call(f"GET {files}", **received)
    service.call(f"GET {files}/{{file_id}}", **received, file_id=demo_ids.DOCUMENT_FILE)
    service.call(f"POST {files}", b"%PDF-1.4\n%%EOF\n", **of, document_id=demo_ids.DOCUMENT_ASKED_FOR)
    asked = {"names": ["Payslip"]}
    service.call("POST /v1/applications/{application_id}/documents", asked, application_id=demo_ids.UNDER_REVIEW)


def _decide(service: Service, me: str) -> None:
    move = {"status": "under_review", "updated_by": me}
    service.call("PUT /v1/applications/{application_id}/status", move, application_id=demo_ids.SUBMITTED)
    of = {"application_id": demo_ids.APPROVED}
    terms = service.call("GET /v1/applications/{application_id}/acceptance", **of)["terms_sha256"]
    service.call("POST /v1/applications/{application_id}/acceptance", {"terms_sha256": terms}, **of)
    _offer_other_terms(service)
    of = {"application_id": demo_ids.SCORED}
    deadline = time.monotonic() + ANCHOR_SECONDS
    while service.call("GET /v1/applications/{application_id}/proof", **of)["status"] != "anchored":
        if time.monotonic() > deadline:
            raise WalkFailed(f"A decision is not in the ledger after {ANCHOR_SECONDS} s.")
        time.sleep(0.05)
    service.call("GET /v1/applications/{application_id}/agreement", **of)
    # The agreement follows the law of the United States, which gives no right of withdrawal.
    service.call("GET /v1/applications/{application_id}/withdrawal", **of, status=404)
    service.call("GET /v1/applications/{application_id}/precontract", **of, status=404)
    service.call("POST /v1/applications/{application_id}/withdrawal", {}, **of, status=404)


def _offer_other_terms(service: Service) -> None:
    of, path = {"application_id": demo_ids.SUBMITTED}, "/v1/applications/{application_id}/counteroffers"
    until = (datetime.now(UTC) + timedelta(days=14)).strftime("%Y-%m-%dT%H:%M:%SZ")
    terms = {"amount_cents": 400_000, "rate_percent": 10.5, "term_months": 12}
    body = {"terms": terms, "reasons": ["income_insufficient"], "expires_at": until}
    made = service.call(f"POST {path}", body, **of)["id"]
    service.call(f"POST {path}/{{counteroffer_id}}/decline", **of, counteroffer_id=made)
    made = service.call(f"POST {path}", body, **of)["id"]
    service.call(f"GET {path}", **of)
    service.call(f"DELETE {path}/{{counteroffer_id}}", **of, counteroffer_id=made)


def _act_as_provider(service: Service) -> None:
    of = {"provider_id": demo_ids.OWN_PROVIDER}
    service.call("GET /v1/providers")
    service.call("GET /v1/providers/{provider_id}/applications", **of)
    service.call("GET /v1/providers/{provider_id}/members", **of)
    service.call("POST /v1/providers", {"name": "Walker's bank"})
    service.call("POST /v1/providers/{provider_id}/members", {"username": "demo-noor"}, **of)
    service.call("POST /v1/providers/{provider_id}/members/me", **of)
    invitation = {**of, "invitation_id": demo_ids.INVITATION}
    service.call("DELETE /v1/providers/{provider_id}/invitations/{invitation_id}", **invitation)
    service.call("GET /v1/providers/{provider_id}/decisions", **of)
    member = {**of, "user_id": demo_ids.STAFF_USER}
    service.call("PUT /v1/providers/{provider_id}/members/{user_id}", {"role": "reader"}, **member)
    service.call("DELETE /v1/providers/{provider_id}/members/{user_id}", **member)


def _tell(service: Service) -> None:
    named = {"name": "Cedar Lending", "address": "1 Bank Street, Ames, IA 50010"}
    of = {"provider_id": demo_ids.OWN_PROVIDER}
    service.call("PUT /v1/providers/{provider_id}", named, **of)
    service.call("GET /v1/providers/{provider_id}/notices", **of)
    of, path = {"application_id": demo_ids.SCORED}, "/v1/applications/{application_id}/notices"
    deadline = time.monotonic() + ANCHOR_SECONDS
    while (notice := service.call(f"GET {path}", **of)["notices"][0])["status"] == "due":
        if time.monotonic() > deadline:
            raise WalkFailed(f"A notice is not made after {ANCHOR_SECONDS} s.")
        time.sleep(0.05)
    one = {**of, "notice_id": notice["id"]}
    at = datetime.now(UTC).isoformat()
    posted = {"channel": "post", "at": at, "reference": "RR 123 456 789 US"}
    service.call(f"POST {path}/{{notice_id}}/deliveries", posted, **one)
    service.call(f"GET {path}/{{notice_id}}", **one)
    of, path = {"application_id": demo_ids.REJECTED}, "/v1/applications/{application_id}/review-requests"
    service.call(f"POST {path}", {"statement": "My payslip was read wrong."}, **of)
    service.call(f"GET {path}", **of)
    of, path = {"application_id": demo_ids.REJECTED}, "/v1/applications/{application_id}/corrections"
    wrong = {"fact": "application_data.income_cents", "claimed": 5_300_000, "statement": "A digit is wrong."}
    service.call(f"POST {path}", wrong, **of)
    service.call(f"GET {path}", **of)
    text = service.call("GET /v1/notice-consent")
    service.call("PUT /v1/notice-consent", {"text_sha256": text["text_sha256"]})
    service.call("DELETE /v1/notice-consent")


def _score(service: Service) -> None:
    service.call("GET /v1/scoring/definition-schema")
    service.call("GET /v1/scoring/facts")
    named = {"provider_id": str(demo_ids.OWN_PROVIDER), "name": "Walker's model"}
    service.call("POST /v1/scoring/models", named)
    of = {"model_id": demo_ids.SCORING_MODEL}
    service.call("GET /v1/scoring/models")
    service.call("GET /v1/scoring/models/{model_id}", **of)
    service.call("GET /v1/scoring/models/{model_id}/monitoring", **of)
    versions = "/v1/scoring/models/{model_id}/versions"
    service.call(f"POST {versions}", {"definition": SCORECARD}, **of)
    service.call(f"GET {versions}", **of)
    champion = {**of, "number": demo_ids.CHAMPION}
    service.call(f"GET {versions}/{{number}}", **champion)
    service.call(f"GET {versions}/{{number}}/certificate", **champion)
    service.call(f"GET {versions}/{{number}}/instructions", **champion)
    facts = {"application_data.monthly_income_cents": 320_000}
    service.call(f"POST {versions}/{{number}}/evaluate", {"facts": facts}, **champion)
    service.call(f"POST {versions}/{{number}}/compare", {"with": demo_ids.CHALLENGER}, **champion)
    service.call("POST /v1/offers/match", {"facts": facts, "amount_cents": 900_000})
    service.call("GET /v1/applications/{application_id}/score", application_id=demo_ids.SCORED)
    service.call("GET /v1/applications/{application_id}/explanation", application_id=demo_ids.SCORED)
    service.call(f"POST {versions}/{{number}}/publish", {"role": "challenger"}, **of, number=demo_ids.DRAFT_VERSION)
    service.call(f"POST {versions}/{{number}}/retire", **of, number=demo_ids.CHALLENGER)


def _keep_evidence(service: Service) -> dict[str, Any]:
    service.call("GET /.well-known/record-keys.json")
    service.call("GET /v1/scoring/verifier")
    path = "/v1/applications/{application_id}/decision-bundle"
    bundle: dict[str, Any] = service.call(f"GET {path}", application_id=demo_ids.SCORED)
    return bundle


def _claim(service: Service, me: str) -> None:
    made = {"user_id": me, "publication_id": "10.5555/13579246", "claim_type": "author"}
    service.call("POST /v1/claims", made)
    service.call("GET /v1/claims", query={"user_id": me})
    service.call("GET /v1/claims/{claim_id}", claim_id=demo_ids.CLAIM_APPROVED)
    service.call("PUT /v1/claims/{claim_id}", {"notes": "Walked."}, claim_id=demo_ids.CLAIM_DRAFT)
    move = {"status": "pending", "updated_by": me}
    service.call("PUT /v1/claims/{claim_id}/status", move, claim_id=demo_ids.CLAIM_DRAFT)
    service.call("DELETE /v1/claims/{claim_id}", claim_id=demo_ids.CLAIM_TO_DELETE)


def _stage(service: Service, me: str) -> None:
    note = {"kind": "note", "payload": {"text": "Walk."}}
    service.call("POST /v1/staging/items", note)
    service.call("GET /v1/staging/items", query={"kind": "note"})
    service.call("GET /v1/staging/items/{item_id}", item_id=demo_ids.STAGED_CLAIM)
    service.call("POST /v1/staging/approve/{item_id}", {"user_id": me}, item_id=demo_ids.NOTE_TO_APPROVE)
    service.call("POST /v1/staging/reject/{item_id}", {"user_id": me}, item_id=demo_ids.NOTE_TO_REJECT)
    service.call("POST /v1/staging/approve-all", {"user_id": me})
    service.call("POST /v1/staging/items", note)
    service.call("POST /v1/staging/reject-all", {"user_id": me})


def _verify(service: Service) -> None:
    service.call("GET /v1/kyc/status/{verification_id}", verification_id=demo_ids.VERIFIED)
    waits = {"verification_id": demo_ids.OPEN_VERIFICATION}
    service.call("POST /v1/sandbox/verifications/{verification_id}/outcome", {"outcome": "verified"}, **waits)
    again = {"type": "kyc.verification.created", "object_id": str(demo_ids.VERIFIED)}
    service.call("POST /v1/sandbox/events", again)
    service.call("POST /v1/kyc/create", {})
    # Only the provider can sign such a message, and the sandbox sends none.
    service.call("POST /v1/kyc/provider-events", {}, status=401)


def _link_bank(service: Service, me: str) -> None:
    service.call("POST /v1/bankdata/link-token", {"user_id": me})
    service.call("POST /v1/bankdata/exchange", {"user_id": me, "public_token": "public-sandbox-walk"})
    service.call("POST /v1/sandbox/bank-items/{item_id}/require-login", item_id=demo_ids.BANK_ITEM)
    service.call("GET /v1/bankdata/accounts/{user_id}", user_id=me)
    service.call("POST /v1/bankdata/link-token", {"user_id": me, "item_id": demo_ids.BANK_ITEM})
    service.call("GET /v1/bankdata/accounts/{user_id}", user_id=me)
    service.call("GET /v1/bankdata/transactions/{user_id}", user_id=me, query={"limit": 5})


def _pay(service: Service, me: str) -> None:
    service.call("GET /v1/payments/calculate-fee", query={"amount": 1_000_000})
    service.call("POST /v1/payments/add", {"user_id": int(me), "processor_type": "card", "account_id": "acct_1"})
    service.call("GET /v1/user/{user_id}/payment-methods", user_id=me)
    order = {"user_id": int(me), "amount_cents": 500, "payment_method_id": "pm_sandbox_ok"}
    service.call("POST /v1/payments/process", order)
    service.call("GET /v1/payments/{payment_id}", payment_id=demo_ids.CARD_PAYMENT)
    service.call("POST /v1/payments/methods/{method_id}/default", method_id=1)
    service.call("POST /v1/payments/methods/{method_id}/toggle", method_id=1)
    service.call("POST /v1/payments/processor-events", {}, status=401)  # only the processor can sign such a message


def _pay_from_wallet(service: Service, me: str) -> None:
    service.call("POST /v1/wallet/connect/circle", {"label": "Walker's savings"})
    service.call("POST /v1/wallet/connect/walletconnect", {"address": ADDRESS})
    service.call("GET /v1/wallet/list/{user_id}", user_id=me)
    of = {"wallet_id": str(demo_ids.PHONE_WALLET)}
    service.call("GET /v1/wallet/status/{wallet_id}", **of)
    service.call("GET /v1/wallet/balance/{wallet_id}", **of)
    service.call("POST /v1/wallet/default/{wallet_id}", **of)
    order = {"user_id": me, "to_address": ADDRESS, "amount_usdc": 5, **of}
    service.call("POST /v1/payments/crypto/initiate", order)
    signed = {"payment_id": str(demo_ids.UNSIGNED_PAYMENT), "signed_transaction": "0x00"}
    service.call("POST /v1/payments/crypto/confirm", signed)
    sent = {"tx_hash": demo_ids.SUBMITTED_HASH}
    service.call("GET /v1/payments/crypto/status/{tx_hash}", **sent)
    service.call("GET /v1/payments/crypto/receipt/{tx_hash}", **sent)
    service.call("GET /v1/payments/crypto/receipt/{tx_hash}/details", **sent)
    service.call("DELETE /v1/wallet/disconnect/{wallet_id}", wallet_id=demo_ids.OLD_WALLET)


def let_time_go_by(service: Service, key: str) -> None:
    """Move the clock of an account of its own, whose key this is: that takes things away."""
    demo, service.headers = service.headers, {"X-API-Key": key}
    me = service.call("GET /v1/auth/me")["user_id"]
    service.call("POST /v1/applications", {"consumer_id": me, "offer_id": 1, "provider_id": 1001})
    done = service.call("POST /v1/sandbox/clock", {"advance_seconds": 31 * 86_400})["done"]
    if done["applications_expired"] != 1:
        raise WalkFailed(f"No application has expired after 31 days: {done}")
    service.headers = demo


def hold(service: Service, key: str) -> None:
    """Hold the records of an application, and release them, with the key of a member of `Operations`."""
    demo, service.headers = service.headers, {"X-API-Key": key}
    path, of = "/v1/applications/{application_id}/hold", {"application_id": demo_ids.REJECTED}
    for on in (True, False):
        service.call(f"PUT {path}", {"on": on, "reason": "Case 26-1"}, **of)
        if service.call(f"GET {path}", **of)["on"] is not on:
            raise WalkFailed("A litigation hold is not as it was set.")
    service.headers = demo


def _listen(service: Service) -> str:
    receiver = {"url": "http://127.0.0.1:9000/hook", "event_types": ["webhook.test"]}
    kept = service.call("POST /v1/webhooks/endpoints", receiver)["id"]
    of = {"endpoint_id": demo_ids.ENDPOINT}
    service.call("GET /v1/webhooks/endpoints")
    service.call("GET /v1/webhooks/endpoints/{endpoint_id}", **of)
    service.call("PATCH /v1/webhooks/endpoints/{endpoint_id}", {"description": "Walker's"}, **of)
    service.call("POST /v1/webhooks/endpoints/{endpoint_id}/test", **of)
    service.call("GET /v1/webhooks/deliveries", query={"endpoint": str(demo_ids.ENDPOINT)})
    service.call("POST /v1/webhooks/deliveries/{delivery_id}/redeliver", delivery_id=demo_ids.DELIVERY)
    service.call("GET /v1/webhooks/event-types")
    service.call("GET /v1/webhooks/events", query={"after": 0})
    service.call("POST /v1/webhooks/endpoints/{endpoint_id}/rotate-secret", {"grace_seconds": 0}, **of)
    service.call("DELETE /v1/webhooks/endpoints/{endpoint_id}", **of)
    return str(kept)
