"""The least that Django can do: function views, no middleware, hand-written SQL, a short memory of credentials.

Every check that the platform makes for these requests is made here too; what is missing is everything that makes one
endpoint like the next. Served as `gunicorn --worker-class gthread --workers 2 --threads 8 tests.bench.references.bare`.
"""

import hashlib
import hmac
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import environ
import jwt
import orjson
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django.conf import settings

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={"default": {**environ.Env.db_url_config(os.environ["DATABASE_URL"]), "CONN_MAX_AGE": None}},
        MIDDLEWARE=[],
        ROOT_URLCONF=__name__,
        SECRET_KEY=os.environ["SECRET_KEY"],
        USE_TZ=True,
    )

from django.core.wsgi import get_wsgi_application
from django.db import IntegrityError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path
from uuid_utils.compat import uuid7

BASE_URL = "http://127.0.0.1:8000/v1"
PUBLIC_KEY = load_pem_public_key(os.environ["BENCH_PUBLIC_KEY"].encode())
FERNET = Fernet(os.environ["FIELD_ENCRYPTION_KEYS"])
REMEMBERED_SECONDS = 3.0
TRANSITIONS = {
    "draft": {"submitted", "withdrawn"},
    "submitted": {"under_review", "pending_documents", "withdrawn"},
    "under_review": {"approved", "rejected", "pending_documents", "withdrawn"},
    "pending_documents": {"under_review", "rejected", "withdrawn"},
    "approved": {"withdrawn", "under_review"},
    "rejected": {"under_review"},
}
STATUSES = {*TRANSITIONS, "withdrawn", "expired"}
INT64 = 2**63
SHOWN = (
    "id", "consumer_id", "offer_id", "provider_id", "status", "created_at", "updated_at", "application_data", "notes",
    "reviewed_at", "reviewed_by", "status_reason", "submitted_at",
)  # fmt: skip
COLUMNS = ", ".join(SHOWN)
GET_ONE = f"SELECT {COLUMNS} FROM credit_application WHERE id = %s AND consumer_id = %s"
LIST = (
    f"SELECT {COLUMNS} FROM credit_application WHERE id IN (SELECT id FROM credit_application WHERE consumer_id = %s"
    " ORDER BY id DESC LIMIT %s OFFSET %s) ORDER BY id DESC"
)
INSERT = (
    "INSERT INTO credit_application (id, consumer_id, offer_id, provider_id, status, initial_status, moves,"
    " application_data, data_changed_by_id, created_at, updated_at) VALUES (%s, %s, %s, %s, %s, %s, 0, %s, %s, %s, %s)"
)
INSERT_EVENT = (
    "INSERT INTO webhooks_event (id, account_id, type, object, request_id, created_at) VALUES (%s, %s, %s, %s, %s, %s)"
)
INSERT_HISTORY = (
    "INSERT INTO credit_applicationhistory (id, application_id, position, status, previous_status, changed_by,"
    " changed_at, reason, metadata, principal_id, credential) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
FIND_RECORD = (
    "SELECT fingerprint, status, body FROM api_idempotencyrecord WHERE owner_id = %s AND key = %s AND created_at > %s"
)
INSERT_RECORD = (
    "INSERT INTO api_idempotencyrecord (id, owner_id, key, fingerprint, status, body, created_at, permanent, subject)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, false, '')"
)
FAMILY = (
    "SELECT u.id, f.revoked_at IS NULL AND u.is_active AND f.created_at >= u.credentials_changed_at"
    " FROM identity_tokenfamily f JOIN identity_user u ON u.id = f.user_id WHERE f.id = %s"
)
KEY = (
    "SELECT k.digest, k.secret, u.id, k.revoked_at IS NULL AND k.expires_at > now() AND u.is_active, k.last_used_at"
    " FROM identity_apikey k JOIN identity_user u ON u.id = k.owner_id WHERE k.id = %s"
)
_KEY_SHAPE = re.compile(r"ck_test_([0-9A-Za-z]{12})_[0-9A-Za-z]{38}")
_remembered: dict[str, tuple[int, str, str, float]] = {}


class Refused(Exception):
    """An answer that is not a success."""

    def __init__(self, status: int, error: str) -> None:
        self.status, self.error = status, error


View = Callable[..., HttpResponse]


def answer(body: bytes, status: int = 200) -> HttpResponse:
    """Return JSON with its length, which saves the server from sending chunks."""
    return HttpResponse(body, status=status, content_type="application/json", headers={"Content-Length": len(body)})


def refusing(view: View) -> View:
    """Render refusals."""

    def handle(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            return view(request, **arguments)
        except Refused as refused:
            return answer(orjson.dumps({"error": refused.error}), refused.status)

    return handle


def check_token(text: str) -> tuple[int, str, str, float]:
    """Verify an access token and ask whether its log-in still counts."""
    try:
        claims = jwt.decode(
            text, PUBLIC_KEY, algorithms=["ES256"], audience=BASE_URL, issuer=BASE_URL,
            options={"require": ["exp", "iat", "sub", "jti"]},
        )  # fmt: skip
    except jwt.PyJWTError as error:
        raise Refused(401, "invalid_token") from error
    if claims.get("token_type") != "access":
        raise Refused(401, "invalid_token")
    with connection.cursor() as cursor:
        cursor.execute(FAMILY, [claims["sid"]])
        row = cursor.fetchone()
    if row is None or not row[1] or str(row[0]) != claims["sub"]:
        raise Refused(401, "invalid_token")
    return row[0], f"jwt:{claims['sid']}", "", time.monotonic() + min(REMEMBERED_SECONDS, claims["exp"] - time.time())


def check_key(text: str) -> tuple[int, str, str, float]:
    """Look an API key up."""
    match = _KEY_SHAPE.fullmatch(text)
    if match is None:
        raise Refused(401, "invalid_token")
    with connection.cursor() as cursor:
        cursor.execute(KEY, [match[1]])
        row = cursor.fetchone()
        if row is None or not hmac.compare_digest(row[0], hashlib.sha256(text.encode()).hexdigest()) or not row[3]:
            raise Refused(401, "invalid_token")
        now = datetime.now(UTC)
        if row[4] is None or now - row[4] > timedelta(minutes=1):
            cursor.execute("UPDATE identity_apikey SET last_used_at = %s WHERE id = %s", [now, match[1]])
    secret = FERNET.decrypt(row[1].encode()).decode()
    return row[2], f"api_key:{match[1]}", secret, time.monotonic() + REMEMBERED_SECONDS


def remember(text: str, check: Callable[[str], tuple[int, str, str, float]]) -> tuple[int, str, str, float]:
    """Return a check that still holds, or make it."""
    found = _remembered.get(text)
    if found is None or found[3] <= time.monotonic():
        found = _remembered[text] = check(text)
    return found


def caller_of(request: HttpRequest) -> tuple[int, str]:
    """Return the account and the name of its credential."""
    meta = request.META
    key = meta.get("HTTP_X_API_KEY")
    if key is not None:
        return remember(key, check_key)[:2]
    scheme, _, text = meta.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme != "Bearer":
        raise Refused(401, "authentication_required")
    if not text.startswith("ck_test_"):
        return remember(text, check_token)[:2]
    user_id, label, secret, _ = remember(text, check_key)
    timestamp = meta.get("HTTP_X_SERVICE_TIMESTAMP", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        raise Refused(401, "timestamp_out_of_range")
    message = f"{timestamp}{request.method}{meta['RAW_URI']}".encode() + request.body
    expected = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, meta.get("HTTP_X_SERVICE_SIGNATURE", "")):
        raise Refused(401, "invalid_signature")
    return user_id, label


def shown(row: tuple) -> dict[str, Any]:
    """Return the answer for one row."""
    content = dict(zip(SHOWN, row, strict=True))
    content["consumer_id"] = str(content["consumer_id"])
    if content["application_data"] is not None:
        content["application_data"] = orjson.Fragment(content["application_data"])
    return content


def render(content: Any) -> bytes:
    """Return JSON with UTC timestamps."""
    return orjson.dumps(content, option=orjson.OPT_UTC_Z)


def body_of(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object that was sent."""
    if request.META.get("CONTENT_TYPE") != "application/json":
        raise Refused(415, "unsupported_media_type")
    try:
        body = orjson.loads(request.body)
    except ValueError as error:
        raise Refused(400, "malformed_json") from error
    if not isinstance(body, dict):
        raise Refused(400, "validation_error")
    return body


def number_of(body: dict[str, Any], name: str) -> int:
    """Return a 64-bit integer member."""
    value = body.get(name)
    if type(value) is not int or not -INT64 <= value < INT64:
        raise Refused(400, "validation_error")
    return value


def identifier_of(text: str) -> UUID:
    """Return the id in a path."""
    try:
        return UUID(text)
    except ValueError as error:
        raise Refused(404, "application_not_found") from error


def page_of(request: HttpRequest) -> tuple[int, int]:
    """Return limit and offset."""
    limit, offset = request.GET.get("limit", "20"), request.GET.get("offset", "0")
    if not limit.isdigit() or not offset.isdigit() or not 1 <= int(limit) <= 100:
        raise Refused(400, "invalid_pagination")
    return int(limit), int(offset)


@refusing
def one(request: HttpRequest, application_id: str) -> HttpResponse:
    """GET one application."""
    if request.method != "GET":
        raise Refused(405, "method_not_allowed")
    user_id, _ = caller_of(request)
    with connection.cursor() as cursor:
        cursor.execute(GET_ONE, [identifier_of(application_id), user_id])
        row = cursor.fetchone()
    if row is None:
        raise Refused(404, "application_not_found")
    return answer(render(shown(row)))


@refusing
def many(request: HttpRequest) -> HttpResponse:
    """GET a page, or POST an application."""
    user_id, _ = caller_of(request)
    if request.method == "POST":
        return create(request, user_id)
    if request.method != "GET":
        raise Refused(405, "method_not_allowed")
    limit, offset = page_of(request)
    with connection.cursor() as cursor:
        cursor.execute(LIST, [user_id, limit, offset])
        rows = cursor.fetchall()
    return answer(render([shown(row) for row in rows]))


def create(request: HttpRequest, user_id: int) -> HttpResponse:
    """Make an application, at most once per key."""
    body = body_of(request)
    if body.get("consumer_id") != str(user_id):
        raise Refused(401, "user_mismatch")
    offer_id, provider_id = number_of(body, "offer_id"), number_of(body, "provider_id")
    status = body.get("initial_status") or "draft"
    if status not in STATUSES:
        raise Refused(400, "invalid_status")
    try:
        key = UUID(request.META["HTTP_IDEMPOTENCY_KEY"])
    except (KeyError, ValueError) as error:
        raise Refused(400, "invalid_idempotency_key") from error
    digest = hashlib.sha256(f"{request.method}\n{request.path}\n".encode())
    digest.update(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
    fingerprint = digest.hexdigest()
    now = datetime.now(UTC)
    lock = hashlib.sha256(b"%d:%b" % (user_id, key.bytes)).digest()[:8]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [int.from_bytes(lock, "big", signed=True)])
            if not cursor.fetchone()[0]:
                raise Refused(409, "request_in_progress")
            cursor.execute(FIND_RECORD, [user_id, key, now - timedelta(hours=72)])
            stored = cursor.fetchone()
            if stored is not None:
                if stored[0] != fingerprint:
                    raise Refused(422, "idempotency_mismatch")
                return answer(bytes(stored[2]), stored[1])
            cursor.execute("SELECT is_active FROM credit_offer WHERE id = %s", [offer_id])
            offer = cursor.fetchone()
            if offer is not None and not offer[0]:
                raise Refused(400, "offer_unavailable")
            identifier, data = uuid7(), body.get("application_data")
            text = None if data is None else orjson.dumps(data).decode()
            values = [identifier, user_id, offer_id, provider_id, status, status, text, user_id, now, now]
            cursor.execute(INSERT, values)
            write_event(cursor, user_id, "created", identifier, status, offer_id, provider_id, now)
            row = (identifier, user_id, offer_id, provider_id, status, now, now, text, None, None, None, None, None)
            content = render(shown(row))
            cursor.execute(INSERT_RECORD, [uuid7(), user_id, key, fingerprint, 201, content, now])
    except IntegrityError as error:
        raise Refused(409, "request_in_progress") from error
    return answer(content, 201)


def write_event(
    cursor: Any, user_id: int, verb: str, identifier: UUID, status: str, offer_id: int, provider_id: int, now: datetime
) -> None:
    """Write an event to the outbox."""
    event = {
        "application_id": str(identifier), "status": status, "offer_id": offer_id, "provider_id": provider_id,
    }  # fmt: skip
    text = orjson.dumps(event).decode()
    cursor.execute(INSERT_EVENT, [uuid7(), user_id, f"application.{verb}", text, str(uuid4()), now])


@refusing
def move(request: HttpRequest, application_id: str) -> HttpResponse:
    """PUT the status of an application."""
    if request.method != "PUT":
        raise Refused(405, "method_not_allowed")
    user_id, label = caller_of(request)
    body = body_of(request)
    to, changed_by = body.get("status"), body.get("updated_by")
    if to not in STATUSES or not isinstance(changed_by, str) or not 1 <= len(changed_by) <= 255:
        raise Refused(400, "validation_error")
    reason, metadata = body.get("reason"), body.get("metadata")
    if reason is not None and not isinstance(reason, str):
        raise Refused(400, "validation_error")
    identifier, now = identifier_of(application_id), datetime.now(UTC)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT {COLUMNS}, moves FROM credit_application WHERE id = %s", [identifier])
        row = cursor.fetchone()
        if row is None or row[1] != user_id:
            raise Refused(404, "application_not_found")
        before, moves = row[4], row[-1]
        if to not in TRANSITIONS.get(before, ()):
            raise Refused(400, "invalid_application_transition")
        cursor.execute(
            "UPDATE credit_application SET status = %s, moves = %s, status_reason = %s, updated_at = %s"
            " WHERE id = %s AND status = %s AND moves = %s",
            [to, moves + 1, reason, now, identifier, before, moves],
        )
        if cursor.rowcount != 1:
            raise Refused(400, "invalid_application_transition")
        text = None if metadata is None else orjson.dumps(metadata).decode()
        values = [uuid7(), identifier, moves + 1, to, before, changed_by, now, reason, text, user_id, label]
        cursor.execute(INSERT_HISTORY, values)
        write_event(cursor, user_id, to, identifier, to, row[2], row[3], now)
    content = shown(row[:-1])
    content |= {"status": to, "updated_at": now, "status_reason": reason}
    return answer(render(content))


@refusing
def fee(request: HttpRequest) -> HttpResponse:
    """GET the fee for an amount."""
    caller_of(request)
    text = request.GET.get("amount", "")
    if not text.isdigit() or not 0 < int(text) < INT64:
        raise Refused(400, "invalid_amount")
    amount = int(text)
    rate = 150 if amount < 1_000_000 else 125 if amount <= 10_000_000 else 100
    cents = (amount * rate + 5000) // 10_000
    quote = {
        "amount_cents": amount, "fee_amount_cents": cents, "fee_percentage": rate / 100,
        "net_amount_cents": amount - cents,
    }  # fmt: skip
    return answer(orjson.dumps(quote))


urlpatterns = [
    path("v1/applications", many),
    path("v1/applications/<str:application_id>", one),
    path("v1/applications/<str:application_id>/status", move),
    path("v1/payments/calculate-fee", fee),
]
application = get_wsgi_application()
