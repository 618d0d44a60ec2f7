"""Every operation of service A, as stories of the demo account."""

import secrets
import time
from typing import Any

from tests.walk.service import Service, WalkFailed

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
ANCHOR_SECONDS = 20  # that the worker may take to carry a decision to the ledger


def walk(service: Service, demo: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Call every operation; return the id of a webhook endpoint that is still there, and the bundle of a decision."""
    me = str(demo["user_id"])
    _discover(service)
    _log_in(service, demo)
    _apply(service, me)
    _score(service, me)
    _claim(service, me)
    _stage(service, me)
    _verify(service)
    _link_bank(service, me)
    _pay(service, me)
    _pay_from_wallet(service, me)
    return _listen(service), _keep_evidence(service, me)


def _discover(service: Service) -> None:
    service.call("GET /.well-known/jwks.json")
    service.call("GET /.well-known/oauth-authorization-server")
    service.call("GET /.well-known/ucp")
    service.call("GET /v1/health")
    service.call("GET /v1/openapi.json")
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
    # A key waits for its owner only after somebody else has rotated it at the back office.
    service.call("POST /v1/auth/keys/{key_id}/collect", key_id="none", status=404)
    service.headers = {}
    issued = service.call("POST /v1/auth/refresh", {"refresh_token": issued["refresh_token"]})
    service.call("POST /v1/auth/revoke", {"refresh_token": issued["refresh_token"]})
    # A code takes a browser: what happens with one is shown by tests/identity/test_oauth_*.py.
    nobody = {"client_id": "nobody", "client_secret": "nothing"}
    service.call("POST /v1/oauth/token", {"grant_type": "refresh_token", "refresh_token": "none", **nobody}, status=401)
    service.call("POST /v1/oauth/revoke", {"token": "none", **nobody}, status=401)
    service.headers = key


def _apply(service: Service, me: str) -> None:
    listed = {"provider_id": f"77{me}", "name": "Walker's loan", "product_type": "personal_loan"}
    offer = service.call("POST /v1/provider-offers", listed)["id"]
    service.call("GET /v1/provider-offers", query={"provider_id": listed["provider_id"]})
    service.call("GET /v1/provider-offers/{offer_id}", offer_id=offer)
    service.call("PUT /v1/provider-offers/{offer_id}", {**listed, "name": "Walker's better loan"}, offer_id=offer)
    wanted = {"consumer_id": me, "offer_id": int(offer), "provider_id": int(listed["provider_id"])}
    loan = {"amount_cents": 500_000, "term_months": 12, "apr_percent": "9.5"}
    service.call("GET /v1/provider-offers/{offer_id}/quote", query=loan, offer_id=offer)
    of = {"application_id": service.call("POST /v1/applications", {**wanted, "application_data": {}})["id"]}
    service.call("GET /v1/applications", query={"consumer_id": me, "status": "draft"})
    service.call("GET /v1/applications/{application_id}", **of)
    service.call("PUT /v1/applications/{application_id}", {"updated_by": me, "notes": "Walked."}, **of)
    service.call("PUT /v1/applications/{application_id}/status", {"status": "submitted", "updated_by": me}, **of)
    _hand_in(service, of)
    for status in ("under_review", "approved"):
        service.call("PUT /v1/applications/{application_id}/status", {"status": status, "updated_by": me}, **of)
    service.call("GET /v1/applications/{application_id}/transitions", **of)
    service.call("GET /v1/applications/{application_id}/history", **of)
    terms = service.call("GET /v1/applications/{application_id}/acceptance", **of)["terms_sha256"]
    service.call("POST /v1/applications/{application_id}/acceptance", {"terms_sha256": terms}, **of)
    provider = {"provider_id": listed["provider_id"]}
    service.call("GET /v1/providers")
    service.call("GET /v1/providers/{provider_id}/applications", **provider)
    service.call("GET /v1/providers/{provider_id}/members", **provider)
    # The only account there is owns the provider, and stays its member.
    service.call("POST /v1/providers/{provider_id}/members", {"username": "demo"}, **provider)
    service.call("DELETE /v1/providers/{provider_id}/members/{user_id}", user_id=me, status=400, **provider)
    # Nothing waits for a second reviewer where one decides.
    service.call("DELETE /v1/applications/{application_id}/pending-decision", **of, status=404)
    deadline = time.monotonic() + ANCHOR_SECONDS
    while True:
        try:
            service.call("GET /v1/applications/{application_id}/proof", **of)
            break
        except WalkFailed:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    service.call("DELETE /v1/provider-offers/{offer_id}", offer_id=offer)


def _score(service: Service, me: str) -> None:
    service.call("GET /v1/scoring/definition-schema")
    service.call("GET /v1/scoring/facts")
    model = service.call("POST /v1/scoring/models", {"provider_id": f"77{me}", "name": "Walker's model"})
    of = {"model_id": model["id"]}
    service.call("GET /v1/scoring/models")
    service.call("GET /v1/scoring/models/{model_id}", **of)
    versions = "/v1/scoring/models/{model_id}/versions"
    of["number"] = service.call(f"POST {versions}", {"definition": SCORECARD}, **of)["number"]
    service.call(f"GET {versions}", **of)
    service.call(f"GET {versions}/{{number}}", **of)
    facts = {"application_data.monthly_income_cents": 320_000}
    service.call(f"POST {versions}/{{number}}/evaluate", {"facts": facts}, **of)
    service.call(f"POST {versions}/{{number}}/publish", {"role": "champion"}, **of)
    service.call(f"POST {versions}/{{number}}/compare", {"with": of["number"]}, **of)
    service.call("GET /v1/scoring/models/{model_id}/monitoring", model_id=model["id"])
    offer = {
        "provider_id": f"77{me}", "name": "Walker's scored loan", "product_type": "personal_loan",
        "blockscore_model_id": model["id"],
    }  # fmt: skip
    made = service.call("POST /v1/provider-offers", offer)["id"]
    service.call("POST /v1/offers/match", {"facts": facts, "amount_cents": 500_000})
    wanted = {
        "consumer_id": me, "offer_id": int(made), "provider_id": int(offer["provider_id"]),
        "application_data": {"monthly_income_cents": 320_000}, "initial_status": "submitted",
    }  # fmt: skip
    scored = service.call("POST /v1/applications", wanted)["id"]
    service.call("GET /v1/applications/{application_id}/score", application_id=scored)
    service.call("DELETE /v1/provider-offers/{offer_id}", offer_id=made)
    service.call(f"POST {versions}/{{number}}/retire", **of)


def _hand_in(service: Service, of: dict[str, Any]) -> None:
    asked = service.call("POST /v1/applications/{application_id}/documents", {"names": ["Payslip"]}, **of)
    document = {**of, "document_id": asked["documents"][0]["id"]}
    files = "/v1/applications/{application_id}/documents/{document_id}/files"
    file = service.call(f"POST {files}", b"%PDF-1.4\n%%EOF\n", **document)
    service.call(f"GET {files}", **document)
    service.call(f"GET {files}/{{file_id}}", **document, file_id=file["id"])
    service.call("GET /v1/applications/{application_id}/documents", **of)


def _keep_evidence(service: Service, me: str) -> dict[str, Any]:
    decided = service.call("GET /v1/applications", query={"consumer_id": me, "status": "approved"})
    of = {"application_id": decided[0]["id"]}
    service.call("GET /v1/applications/{application_id}/proof", **of)
    service.call("GET /v1/scoring/verifier")
    bundle: dict[str, Any] = service.call("GET /v1/applications/{application_id}/decision-bundle", **of)
    return bundle


def _claim(service: Service, me: str) -> None:
    made = {"user_id": me, "publication_id": f"10.5555/{secrets.token_hex(6)}", "claim_type": "author"}
    of = {"claim_id": service.call("POST /v1/claims", made)["id"]}
    service.call("GET /v1/claims", query={"user_id": me})
    service.call("GET /v1/claims/{claim_id}", **of)
    service.call("PUT /v1/claims/{claim_id}", {"notes": "Walked."}, **of)
    service.call("PUT /v1/claims/{claim_id}/status", {"status": "pending", "updated_by": me}, **of)
    service.call("DELETE /v1/claims/{claim_id}", **of)


def _stage(service: Service, me: str) -> None:
    def item() -> dict[str, str]:
        return {"item_id": service.call("POST /v1/staging/items", {"kind": "note", "payload": {"text": "Walk."}})["id"]}

    service.call("GET /v1/staging/items", query={"kind": "note"})
    service.call("GET /v1/staging/items/{item_id}", **item())
    for verb in ("approve", "reject"):
        service.call(f"POST /v1/staging/{verb}/{{item_id}}", {"user_id": me}, **item())
        item()
        service.call(f"POST /v1/staging/{verb}-all", {"user_id": me})


def _verify(service: Service) -> None:
    made = service.call("POST /v1/kyc/create", {})
    service.call("GET /v1/kyc/status/{verification_id}", verification_id=made["verification_id"])
    of = {"verification_id": made["verification_id"]}
    service.call("POST /v1/sandbox/verifications/{verification_id}/outcome", {"outcome": "verified"}, **of)
    again = {"type": "kyc.verification.created", "object_id": made["verification_id"]}
    service.call("POST /v1/sandbox/events", again)
    # Only the provider can sign such a message, and the sandbox sends none.
    service.call("POST /v1/kyc/provider-events", {}, status=401)


def _link_bank(service: Service, me: str) -> None:
    service.call("POST /v1/bankdata/link-token", {"user_id": me})
    linked = service.call(
        "POST /v1/bankdata/exchange", {"user_id": me, "public_token": f"public-sandbox-{secrets.token_hex(6)}"}
    )
    service.call("POST /v1/sandbox/bank-items/{item_id}/require-login", item_id=linked["item_id"])
    service.call("GET /v1/bankdata/accounts/{user_id}", user_id=me, status=502)
    service.call("GET /v1/bankdata/accounts/{user_id}", user_id=me)
    service.call("GET /v1/bankdata/transactions/{user_id}", user_id=me, query={"limit": 5})


def _pay(service: Service, me: str) -> None:
    service.call("GET /v1/payments/calculate-fee", query={"amount": 1_000_000})
    service.call("POST /v1/payments/add", {"user_id": int(me), "processor_type": "card", "account_id": "acct_1"})
    service.call("GET /v1/user/{user_id}/payment-methods", user_id=me)
    order = {"user_id": int(me), "amount_cents": 500, "payment_method_id": "pm_sandbox_ok"}
    paid = service.call("POST /v1/payments/process", order)["payment_id"]
    service.call("GET /v1/payments/{payment_id}", payment_id=paid)
    service.call("POST /v1/payments/methods/{method_id}/default", method_id=1)
    service.call("POST /v1/payments/methods/{method_id}/toggle", method_id=1)
    service.call("POST /v1/payments/processor-events", {}, status=401)  # only the processor can sign such a message


def _pay_from_wallet(service: Service, me: str) -> None:
    service.call("POST /v1/wallet/connect/circle", {"label": "Walker's savings"})
    of = {"wallet_id": service.call("POST /v1/wallet/connect/walletconnect", {"address": ADDRESS})["id"]}
    service.call("GET /v1/wallet/list/{user_id}", user_id=me)
    service.call("GET /v1/wallet/status/{wallet_id}", **of)
    service.call("GET /v1/wallet/balance/{wallet_id}", **of)
    service.call("POST /v1/wallet/default/{wallet_id}", **of)
    order = {"user_id": me, "to_address": ADDRESS, "amount_usdc": 5, **of}
    payment = service.call("POST /v1/payments/crypto/initiate", order)["payment_id"]
    signed = {"payment_id": payment, "signed_transaction": "0x00"}
    sent = {"tx_hash": service.call("POST /v1/payments/crypto/confirm", signed)["tx_hash"]}
    service.call("GET /v1/payments/crypto/status/{tx_hash}", **sent)
    service.call("GET /v1/payments/crypto/receipt/{tx_hash}", **sent)
    service.call("GET /v1/payments/crypto/receipt/{tx_hash}/details", **sent)
    service.call("DELETE /v1/wallet/disconnect/{wallet_id}", **of)


def let_time_go_by(service: Service, key: str) -> None:
    """Move the clock of an account of its own, whose key this is, and make it as if new: both take things away."""
    demo, service.headers = service.headers, {"X-API-Key": key}
    me = service.call("GET /v1/auth/me")["user_id"]
    service.call("POST /v1/applications", {"consumer_id": me, "offer_id": 1, "provider_id": 1001})
    done = service.call("POST /v1/sandbox/clock", {"advance_seconds": 31 * 86_400})["done"]
    if done["applications_expired"] != 1:
        raise WalkFailed(f"No application has expired after 31 days: {done}")
    service.call("POST /v1/sandbox/reset")
    if service.call("GET /v1/applications", query={"consumer_id": me}) != []:
        raise WalkFailed("An account that was reset still has applications.")
    service.headers = demo


def _listen(service: Service) -> str:
    receiver = {"url": "http://127.0.0.1:9/hook", "event_types": ["webhook.test"]}
    kept, of = (service.call("POST /v1/webhooks/endpoints", receiver)["id"] for _ in range(2))
    service.call("GET /v1/webhooks/endpoints")
    service.call("GET /v1/webhooks/endpoints/{endpoint_id}", endpoint_id=of)
    service.call("PATCH /v1/webhooks/endpoints/{endpoint_id}", {"description": "Walker's"}, endpoint_id=of)
    service.call("POST /v1/webhooks/endpoints/{endpoint_id}/rotate-secret", {"grace_seconds": 0}, endpoint_id=of)
    delivery = service.call("POST /v1/webhooks/endpoints/{endpoint_id}/test", endpoint_id=of)["delivery_id"]
    service.call("GET /v1/webhooks/deliveries", query={"endpoint": of})
    service.call("POST /v1/webhooks/deliveries/{delivery_id}/redeliver", delivery_id=delivery)
    service.call("GET /v1/webhooks/event-types")
    service.call("GET /v1/webhooks/events", query={"after": 0})
    service.call("DELETE /v1/webhooks/endpoints/{endpoint_id}", endpoint_id=of)
    return str(kept)
