"""Serve a small stateful double of Plaid on 127.0.0.1, and validate its requests and responses.

The double stores items, transactions, and verifications, and records every request. The validator checks every request
and every honest response against Plaid's own OpenAPI description.
"""

import hashlib
import json
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from tests.payments.http_double import HANG_UP, HttpDouble, Reply

DESCRIPTION = Path(__file__).resolve().parents[3] / "shared" / "openapi" / "plaid.json"
CLIENT_ID, SECRET = "client-of-the-tests", "secret-of-the-tests"
EXPIRATION = "2030-01-01T00:00:00Z"
# Our excerpt of Plaid's description lacks this operation.
UNDESCRIBED = {"/webhook_verification_key/get"}


@dataclass
class Exchange:
    """A request and its response."""

    path: str
    headers: dict
    body: bytes
    status: int = 0
    answer: bytes = b""
    is_honest: bool = True

    @property
    def document(self):
        return json.loads(self.body)


@dataclass
class DoubleItem:
    """An item: its transactions are a feed of changes, in pages of the requested size."""

    item_id: str
    accounts: list = field(default_factory=list)
    feed: list = field(default_factory=list)  # Each entry is ("added" | "modified" | "removed", transaction).
    error: str = ""
    institution_id: str = "ins_1"
    institution_name: str = "First Platypus Bank"
    mutations: int = 0  # The number states how often the feed changes during paging.
    update_status: str = "HISTORICAL_UPDATE_COMPLETE"


class Fault:
    """A response that Plaid would not or should not send; with `hold`, it first waits for `release`."""

    def __init__(self, status=200, body=b"", headers=None, *, hold=False, drop=False):
        self.status, self.body, self.headers, self.hold, self.drop = status, body, headers or {}, hold, drop


def plaid_error(code, kind="INVALID_INPUT", status=400):
    """Return (status, body) of an error in Plaid's format."""
    return status, {
        "error_type": kind, "error_code": code, "error_message": "what a developer reads", "display_message": None,
        "request_id": "req-of-the-double",
    }  # fmt: skip


def account(number, *, item="item", current=100.0, available=99.5, **changes):
    return {
        "account_id": f"{item}-account-{number}", "name": f"Account {number}", "official_name": None, "mask": "0000",
        "type": "depository", "subtype": "checking",
        "balances": {"available": available, "current": current, "limit": None, "iso_currency_code": "USD",
                     "unofficial_currency_code": None},
        **changes,
    }  # fmt: skip


def booking(number, *, amount=12.34, day="2026-03-01", **changes):
    return {
        "transaction_id": f"transaction-{number}", "account_id": "item-account-1", "amount": amount, "date": day,
        "iso_currency_code": "USD", "unofficial_currency_code": None, "pending": False, "name": f"SHOP {number}",
        "merchant_name": None, "payment_channel": "online", "account_owner": None, "pending_transaction_id": None,
        "authorized_date": None, "authorized_datetime": None, "datetime": None, "transaction_code": None,
        "location": dict.fromkeys(("address", "city", "region", "postal_code", "country", "lat", "lon",
                                   "store_number")),
        "payment_meta": dict.fromkeys(("reference_number", "ppd_id", "payee", "by_order_of", "payer",
                                       "payment_method", "payment_processor", "reason")),
        "personal_finance_category": {"primary": "FOOD_AND_DRINK", "detailed": "FOOD_AND_DRINK_GROCERIES"},
        **changes,
    }  # fmt: skip


STEPS = ("accept_tos", "verify_sms", "kyc_check", "documentary_verification", "selfie_check", "watchlist_screening",
         "risk_check")  # fmt: skip


class PlaidDouble(HttpDouble):
    """The double's state and its responses."""

    def __init__(self):
        super().__init__()
        self.exchanges = []
        self.public_tokens = {}
        self.items = {}
        self.removed = []
        self.verifications = {}
        self.faults = {}
        self.release = threading.Event()
        self._lock = threading.Lock()
        self.kid = "key-of-the-double"
        self.private_key = ec.generate_private_key(ec.SECP256R1())
        self.key_expired_at = None

    # --- set-up by tests ---

    def offer(self, public_token, item):
        """Accept `public_token` once, in exchange for `item`."""
        self.public_tokens[public_token] = item
        return item

    def fail(self, path, *faults):
        """Respond to the next requests at `path` with these faults, in order."""
        self.faults.setdefault(path, []).extend(faults)

    def requests_at(self, path):
        return [exchange.document for exchange in self.exchanges if exchange.path == path]

    def settle(self, reference, status, **steps):
        """Set the status of a verification and of its steps."""
        self.verifications[reference]["status"] = status
        self.verifications[reference]["steps"].update(steps)

    def sign(self, body, *, at=None, key=None, algorithm="ES256", kid=None, claims=None):
        """Return the Plaid-Verification header for an event."""
        claims = claims or {
            "iat": int(time.time() if at is None else at),
            "request_body_sha256": hashlib.sha256(body).hexdigest(),
        }
        return jwt.encode(claims, key or self.private_key, algorithm=algorithm, headers={"kid": kid or self.kid})

    # --- responses ---

    def answer(self, request):
        """Respond to a request with the next fault of its path, if there is a fault. Record request and response."""
        exchange = Exchange(request.path, request.headers, request.data)
        self.exchanges.append(exchange)
        headers = {}
        if faults := self.faults.get(request.path):
            fault = faults.pop(0)
            exchange.is_honest = False
            if fault.hold:
                self.release.wait(20)
            if fault.hold or fault.drop:
                return HANG_UP
            exchange.status, exchange.answer, headers = fault.status, fault.body, fault.headers
        else:
            exchange.status, document = self._document(request.path, request.headers, request.body)
            exchange.answer = json.dumps(document).encode()
        return Reply(exchange.status, raw=exchange.answer, headers=headers)

    def __exit__(self, *exception):
        self.release.set()
        super().__exit__(*exception)

    def _document(self, path, headers, body):
        """Return (status, document) of an honest response."""
        if headers.get("PLAID-CLIENT-ID") != CLIENT_ID or headers.get("PLAID-SECRET") != SECRET:
            return plaid_error("INVALID_API_KEYS")
        with self._lock:
            handler = getattr(self, "do" + path.replace("/", "_"), None)
            answer = handler(body) if handler else plaid_error("NOT_FOUND", "INVALID_REQUEST", 404)
        status, document = answer if isinstance(answer, tuple) else (200, answer)
        return status, {"request_id": "req-of-the-double", **document}

    def do_link_token_create(self, body):
        token = body.get("access_token")
        if token is not None and token not in self.items:
            return plaid_error("INVALID_ACCESS_TOKEN")
        return {"link_token": f"link-double-{uuid.uuid4()}", "expiration": EXPIRATION}

    def do_item_public_token_exchange(self, body):
        item = self.public_tokens.pop(body["public_token"], None)
        if item is None:
            return plaid_error("INVALID_PUBLIC_TOKEN")
        token = f"access-double-{uuid.uuid4()}"
        self.items[token] = item
        return {"access_token": token, "item_id": item.item_id}

    def _item(self, body):
        item = self.items.get(body["access_token"])
        if item is None:
            return None, plaid_error("INVALID_ACCESS_TOKEN")
        if item.error:
            return None, plaid_error(item.error, "ITEM_ERROR")
        return item, None

    def do_accounts_get(self, body):
        item, refusal = self._item(body)
        if refusal:
            return refusal
        shown = {
            "item_id": item.item_id, "institution_id": item.institution_id,
            "institution_name": item.institution_name, "webhook": None,
            "error": None, "available_products": [],
            "billed_products": ["transactions"], "consent_expiration_time": None, "update_type": "background",
        }  # fmt: skip
        return {"accounts": item.accounts, "item": shown}

    def do_transactions_sync(self, body):
        item, refusal = self._item(body)
        if refusal:
            return refusal
        start = int(body.get("cursor") or 0)
        if start and item.mutations:
            item.mutations -= 1
            return plaid_error("TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION", "TRANSACTIONS_ERROR")
        page = item.feed[start : start + body.get("count", 100)]
        end = start + len(page)
        kinds = {
            kind: [entry for event_kind, entry in page if event_kind == kind]
            for kind in ("added", "modified", "removed")
        }
        return {
            **kinds, "accounts": item.accounts, "next_cursor": str(end), "has_more": end < len(item.feed),
            "transactions_update_status": item.update_status,
        }  # fmt: skip

    def do_item_remove(self, body):
        if self.items.pop(body["access_token"], None) is None:
            return plaid_error("INVALID_ACCESS_TOKEN")
        self.removed.append(body["access_token"])
        return {}

    def do_identity_verification_create(self, body):
        for known in self.verifications.values():
            same = (known["client_user_id"], known["template"]["id"]) == (body["client_user_id"], body["template_id"])
            if same and body.get("is_idempotent"):
                return known
        reference = f"idv_{uuid.uuid4().hex[:12]}"
        self.verifications[reference] = {
            "id": reference, "client_user_id": body["client_user_id"], "created_at": "2026-11-21T00:00:00Z",
            "completed_at": None, "previous_attempt_id": None,
            "shareable_url": f"https://verify.double.example/verify/{reference}" if body["is_shareable"] else None,
            "template": {"id": body["template_id"], "version": 1},
            "user": {"date_of_birth": None, "email_address": None, "ip_address": None, "name": None, "address": None,
                     "id_number": None},
            "status": "active",
            "steps": {**dict.fromkeys(STEPS, "waiting_for_prerequisite"), "accept_tos": "active"},
            "documentary_verification": None, "selfie_check": None, "kyc_check": None, "risk_check": None,
            "verify_sms": None, "watchlist_screening_id": None, "beacon_user_id": None, "user_id": None,
            "redacted_at": None, "latest_scored_protect_event": None,
        }  # fmt: skip
        return self.verifications[reference]

    def do_identity_verification_get(self, body):
        known = self.verifications.get(body["identity_verification_id"])
        return known or plaid_error("NOT_FOUND", "INVALID_REQUEST", 404)

    def do_webhook_verification_key_get(self, body):
        if body["key_id"] != self.kid:
            return plaid_error("INVALID_WEBHOOK_VERIFICATION_KEY_ID")
        jwk = ECAlgorithm(ECAlgorithm.SHA256).to_jwk(self.private_key.public_key(), as_dict=True)
        known = {"kid": self.kid, "alg": "ES256", "use": "sig", "created_at": 1, "expired_at": self.key_expired_at}
        return {"key": {**jwk, **known}}


class Judge:
    """Validate exchanges against Plaid's OpenAPI description."""

    def __init__(self, description):
        from openapi_core import OpenAPI

        self._openapi = OpenAPI.from_dict(description)

    def judge_request(self, exchange):
        """Validate a request. Raises openapi-core's error if the request is invalid."""
        self._openapi.validate_request(self._request(exchange))

    def judge_answer(self, exchange):
        """Validate a response. Raises openapi-core's error if the response is invalid."""
        from openapi_core.testing import MockResponse

        answer = MockResponse(data=exchange.answer, status_code=exchange.status, content_type="application/json")
        self._openapi.validate_response(self._request(exchange), answer)

    def judge(self, exchanges):
        """Validate every request and every honest response; return how many exchanges were validated."""
        described = [exchange for exchange in exchanges if exchange.path not in UNDESCRIBED]
        for exchange in described:
            self.judge_request(exchange)
            if exchange.is_honest:
                self.judge_answer(exchange)
        return len(described)

    def _request(self, exchange):
        from openapi_core.testing import MockRequest

        return MockRequest(
            "https://production.plaid.com", "post", exchange.path, headers=exchange.headers, data=exchange.body,
            content_type=exchange.headers["Content-Type"],
        )  # fmt: skip


def read_description():
    """Return Plaid's description; skip the test if the file is missing."""
    if not DESCRIPTION.exists():
        pytest.skip("needs ../shared/openapi/plaid.json, Plaid's description of its interface")
    return json.loads(DESCRIPTION.read_text())
