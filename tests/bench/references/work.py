"""Code that references share: SQL statements, and checks that do not depend on a framework.

Placeholders are numbered in order, as in asyncpg, and each is used once. `for_django` converts them to Django's form.
"""

import hashlib
import hmac
import os
import re
import time
from typing import Any

import jwt
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.serialization import load_pem_public_key

BASE_URL = "http://127.0.0.1:8000/v1"
PUBLIC_KEY = load_pem_public_key(os.environ["BENCH_PUBLIC_KEY"].encode())
FERNET = Fernet(os.environ["FIELD_ENCRYPTION_KEYS"])
REMEMBERED_SECONDS = 3.0  # the time for which the platform caches a credential
RETENTION_HOURS = 72
TRANSITIONS = {
    "draft": {"submitted", "withdrawn"},
    "submitted": {"under_review", "pending_documents", "withdrawn"},
    "under_review": {"approved", "rejected", "pending_documents", "withdrawn"},
    "pending_documents": {"under_review", "rejected", "withdrawn"},
    "approved": {"withdrawn", "under_review"},
    "rejected": {"under_review"},
}
STATUSES = {*TRANSITIONS, "withdrawn", "expired"}
RETURNED = (
    "id", "consumer_id", "offer_id", "provider_id", "status", "created_at", "updated_at", "application_data",
    "applicants", "share", "notes", "reviewed_at", "reviewed_by", "status_reason", "submitted_at",
)  # fmt: skip
COLUMNS = ", ".join(RETURNED)


def _insert(table: str, columns: str, constants: str = "") -> str:
    values = ", ".join(f"${number}" for number in range(1, columns.count(",") + 2))
    return f"INSERT INTO {table} ({columns}{constants and ', permanent, subject'}) VALUES ({values}{constants})"


STATEMENTS = {
    "get": f"SELECT {COLUMNS} FROM credit_application WHERE id = $1 AND consumer_id = $2",
    "get_to_move": f"SELECT {COLUMNS}, moves FROM credit_application WHERE id = $1 AND consumer_id = $2",
    "list": f"SELECT {COLUMNS} FROM credit_application WHERE id IN (SELECT id FROM credit_application"
    " WHERE consumer_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3) ORDER BY id DESC",
    "insert": _insert(
        "credit_application",
        "id, consumer_id, offer_id, provider_id, status, initial_status, moves, counteroffer_moves, share,"
        " application_data, data_changed_by_id, created_at, updated_at",
    ),
    "update": "UPDATE credit_application SET status = $1, moves = $2, status_reason = $3, updated_at = $4"
    " WHERE id = $5 AND status = $6 AND moves = $7 RETURNING id",
    "event": _insert("webhooks_event", "id, account_id, type, object, request_id, created_at"),
    "history": _insert(
        "credit_applicationhistory",
        "id, application_id, position, status, previous_status, changed_by, changed_at, reason, metadata,"
        " principal_id, credential",
    ),
    "lock": "SELECT pg_try_advisory_xact_lock($1)",
    "find_record": "SELECT fingerprint, status, body FROM api_idempotencyrecord"
    " WHERE owner_id = $1 AND key = $2 AND created_at > $3",
    "record": _insert(
        "api_idempotencyrecord", "id, owner_id, key, fingerprint, status, body, created_at", ", false, ''"
    ),
    "offer": "SELECT is_active FROM credit_offer WHERE id = $1",
    "family": "SELECT u.id, f.revoked_at IS NULL AND u.is_active AND f.created_at >= u.credentials_changed_at"
    " FROM identity_tokenfamily f JOIN identity_user u ON u.id = f.user_id WHERE f.id = $1",
    "key": "SELECT k.digest, k.secret, u.id, k.revoked_at IS NULL AND k.expires_at > now() AND u.is_active,"
    " k.last_used_at FROM identity_apikey k JOIN identity_user u ON u.id = k.owner_id WHERE k.id = $1",
    "key_used": "UPDATE identity_apikey SET last_used_at = $1 WHERE id = $2",
}


def for_django() -> dict[str, str]:
    """Return the statements with the placeholders of Django's cursor."""
    return {name: re.sub(r"\$\d+", "%s", text) for name, text in STATEMENTS.items()}


def claims_of(token: str) -> dict[str, Any] | None:
    """Return the claims of a valid access token, or None. The caller checks that its log-in is still valid."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token, PUBLIC_KEY, algorithms=["ES256"], audience=BASE_URL, issuer=BASE_URL,
            options={"require": ["exp", "iat", "sub", "jti"]},
        )  # fmt: skip
    except jwt.PyJWTError:
        return None
    return claims if claims.get("token_type") == "access" else None


def remembered_until(claims: dict[str, Any] | None = None) -> float:
    """Return the monotonic time at which a cached check expires: for a token, at most the token's expiry."""
    left = claims["exp"] - time.time() if claims else REMEMBERED_SECONDS
    return time.monotonic() + min(REMEMBERED_SECONDS, left)


def is_the_key(digest: str, key: str) -> bool:
    return hmac.compare_digest(digest, hashlib.sha256(key.encode()).hexdigest())


def is_timely(timestamp: str) -> bool:
    return timestamp.isdigit() and abs(time.time() - int(timestamp)) <= 300


def is_signed(secret: str, timestamp: str, method: str, target: str, body: bytes, signature: str) -> bool:
    message = f"{timestamp}{method}{target}".encode() + body
    return hmac.compare_digest(hmac.new(secret.encode(), message, hashlib.sha256).hexdigest(), signature)


def fingerprint_of(method: str, path: str, canonical: bytes) -> str:
    return hashlib.sha256(f"{method}\n{path}\n".encode() + canonical).hexdigest()


def lock_of(user_id: int, key: bytes) -> int:
    """Return the advisory lock number for an account and its Idempotency-Key."""
    return int.from_bytes(hashlib.sha256(b"%d:%b" % (user_id, key)).digest()[:8], "big", signed=True)


def quote_of(amount: int) -> dict[str, int | float]:
    rate = 150 if amount < 1_000_000 else 125 if amount <= 10_000_000 else 100
    cents = (amount * rate + 5000) // 10_000
    return {
        "amount_cents": amount, "fee_amount_cents": cents, "fee_percentage": rate / 100,
        "net_amount_cents": amount - cents,
    }  # fmt: skip
