"""Minimal Django: function views, no middleware, hand-written SQL, and a short cache of credentials.

It implements every check of the platform for these requests, without the abstractions that endpoints share. Run it with
`gunicorn --worker-class gthread --workers 2 --threads 8 tests.bench.references.bare`.
"""

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
from django.conf import settings

from config.core.databases import parse_address

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={"default": {**parse_address(os.environ["DATABASE_URL"]), "CONN_MAX_AGE": None}},
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

from tests.bench.references import work

SQL = work.for_django()
INT64 = 2**63
_KEY_SHAPE = re.compile(r"ck_test_([0-9A-Za-z]{12})_[0-9A-Za-z]{38}")
Credential = tuple[int, str, str, float]  # account ID, credential label, secret, and monotonic end of validity
_remembered: dict[str, Credential] = {}


class Rejection(Exception):
    """An error response."""

    def __init__(self, status: int, error: str) -> None:
        self.status, self.error = status, error


def json_response(body: bytes, status: int = 200) -> HttpResponse:
    """Return a JSON response with its length, so that the server does not send chunks."""
    return HttpResponse(body, status=status, content_type="application/json", headers={"Content-Length": len(body)})


def accept_methods(*methods: str) -> Callable[..., Callable[..., HttpResponse]]:
    """Accept only these methods, and convert rejections into responses."""

    def wrap(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        def handle(request: HttpRequest, **arguments: Any) -> HttpResponse:
            if request.method not in methods:
                return json_response(orjson.dumps({"error": "method_not_allowed"}), 405)
            try:
                return view(request, **arguments)
            except Rejection as rejection:
                return json_response(orjson.dumps({"error": rejection.error}), rejection.status)

        return handle

    return wrap


def check_token(text: str) -> Credential:
    """Verify an access token, and check that its log-in is still valid."""
    claims = work.claims_of(text)
    if claims is None:
        raise Rejection(401, "invalid_token")
    with connection.cursor() as cursor:
        cursor.execute(SQL["family"], [claims["sid"]])
        row = cursor.fetchone()
    if row is None or not row[1] or str(row[0]) != claims["sub"]:
        raise Rejection(401, "invalid_token")
    return row[0], f"jwt:{claims['sid']}", "", work.remembered_until(claims)


def check_key(text: str) -> Credential:
    """Look up an API key, and check that it is valid."""
    match = _KEY_SHAPE.fullmatch(text)
    if match is None:
        raise Rejection(401, "invalid_token")
    with connection.cursor() as cursor:
        cursor.execute(SQL["key"], [match[1]])
        row = cursor.fetchone()
        if row is None or not work.is_the_key(row[0], text) or not row[3]:
            raise Rejection(401, "invalid_token")
        now = datetime.now(UTC)
        if row[4] is None or now - row[4] > timedelta(minutes=1):
            cursor.execute(SQL["key_used"], [now, match[1]])
    return row[2], f"api_key:{match[1]}", work.FERNET.decrypt(row[1].encode()).decode(), work.remembered_until()


def remember(text: str, check: Callable[[str], Credential]) -> Credential:
    """Return the cached result of a check while it is valid; otherwise run the check."""
    response = _remembered.get(text)
    if response is None or response[3] <= time.monotonic():
        response = _remembered[text] = check(text)
    return response


def caller_of(request: HttpRequest) -> tuple[int, str]:
    """Authenticate a request; return the account ID and the label of the credential."""
    meta = request.META
    key = meta.get("HTTP_X_API_KEY")
    if key is not None:
        return remember(key, check_key)[:2]
    scheme, _, text = meta.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme != "Bearer":
        raise Rejection(401, "authentication_required")
    if not text.startswith("ck_test_"):
        return remember(text, check_token)[:2]
    user_id, label, secret, _ = remember(text, check_key)
    timestamp, signature = meta.get("HTTP_X_SERVICE_TIMESTAMP", ""), meta.get("HTTP_X_SERVICE_SIGNATURE", "")
    if not work.is_timely(timestamp):
        raise Rejection(401, "timestamp_out_of_range")
    if not work.is_signed(secret, timestamp, request.method, meta["RAW_URI"], request.body, signature):
        raise Rejection(401, "invalid_signature")
    return user_id, label


def to_dict(row: tuple) -> dict[str, Any]:
    """Return the response body for a row."""
    content = dict(zip(work.RETURNED, row, strict=True))
    content["consumer_id"] = str(content["consumer_id"])
    for name in ("application_data", "share"):
        if content[name] is not None:
            content[name] = orjson.Fragment(content[name])
    return content


def render(content: Any) -> bytes:
    """Serialize to JSON, with timestamps in UTC."""
    return orjson.dumps(content, option=orjson.OPT_UTC_Z)


def body_of(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object of the request."""
    if request.META.get("CONTENT_TYPE") != "application/json":
        raise Rejection(415, "unsupported_media_type")
    try:
        body = orjson.loads(request.body)
    except ValueError as error:
        raise Rejection(400, "malformed_json") from error
    if not isinstance(body, dict):
        raise Rejection(400, "validation_error")
    return body


def number_of(body: dict[str, Any], name: str) -> int:
    """Return a 64-bit integer field."""
    value = body.get(name)
    if type(value) is not int or not -INT64 <= value < INT64:
        raise Rejection(400, "validation_error")
    return value


def identifier_of(text: str) -> UUID:
    """Parse the application ID in a path."""
    try:
        return UUID(text)
    except ValueError as error:
        raise Rejection(404, "application_not_found") from error


@accept_methods("GET")
def retrieve(request: HttpRequest, application_id: str) -> HttpResponse:
    """GET an application."""
    user_id, _ = caller_of(request)
    with connection.cursor() as cursor:
        cursor.execute(SQL["get"], [identifier_of(application_id), user_id])
        row = cursor.fetchone()
    if row is None:
        raise Rejection(404, "application_not_found")
    return json_response(render(to_dict(row)))


@accept_methods("GET", "POST")
def list_or_create(request: HttpRequest) -> HttpResponse:
    """GET a page, or POST an application."""
    user_id, _ = caller_of(request)
    if request.method == "POST":
        return create(request, user_id)
    limit, offset = request.GET.get("limit", "20"), request.GET.get("offset", "0")
    if not limit.isdigit() or not offset.isdigit() or not 1 <= int(limit) <= 100:
        raise Rejection(400, "invalid_pagination")
    with connection.cursor() as cursor:
        cursor.execute(SQL["list"], [user_id, int(limit), int(offset)])
        rows = cursor.fetchall()
    return json_response(render([to_dict(row) for row in rows]))


def create(request: HttpRequest, user_id: int) -> HttpResponse:
    """Create an application, at most once per Idempotency-Key."""
    body = body_of(request)
    if body.get("consumer_id") != str(user_id):
        raise Rejection(401, "user_mismatch")
    offer_id, provider_id = number_of(body, "offer_id"), number_of(body, "provider_id")
    status = body.get("initial_status") or "draft"
    if status not in work.STATUSES:
        raise Rejection(400, "invalid_status")
    try:
        key = UUID(request.META["HTTP_IDEMPOTENCY_KEY"])
    except (KeyError, ValueError) as error:
        raise Rejection(400, "invalid_idempotency_key") from error
    canonical = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    fingerprint, now = work.fingerprint_of(request.method, request.path, canonical), datetime.now(UTC)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(SQL["lock"], [work.lock_of(user_id, key.bytes)])
            if not cursor.fetchone()[0]:
                raise Rejection(409, "request_in_progress")
            cursor.execute(SQL["find_record"], [user_id, key, now - timedelta(hours=work.RETENTION_HOURS)])
            stored = cursor.fetchone()
            if stored is not None:
                if stored[0] != fingerprint:
                    raise Rejection(422, "idempotency_mismatch")
                return json_response(bytes(stored[2]), stored[1])
            cursor.execute(SQL["offer"], [offer_id])
            offer = cursor.fetchone()
            if offer is not None and not offer[0]:
                raise Rejection(400, "offer_unavailable")
            identifier, data = uuid7(), body.get("application_data")
            text = None if data is None else orjson.dumps(data).decode()
            ids = [identifier, user_id, offer_id, provider_id]
            values = [*ids, status, status, 0, 0, "[]", text, user_id, now, now]
            cursor.execute(SQL["insert"], values)
            write_event(cursor, user_id, "created", identifier, status, offer_id, provider_id, now)
            row = (*ids, status, now, now, text, None, "[]", None, None, None, None, None)
            content = render(to_dict(row))
            cursor.execute(SQL["record"], [uuid7(), user_id, key, fingerprint, 201, content, now])
    except IntegrityError as error:
        raise Rejection(409, "request_in_progress") from error
    return json_response(content, 201)


def write_event(
    cursor: Any, user_id: int, verb: str, identifier: UUID, status: str, offer_id: int, provider_id: int, now: datetime
) -> None:
    """Write an event to the outbox."""
    event = {
        "application_id": str(identifier), "status": status, "offer_id": offer_id, "provider_id": provider_id,
    }  # fmt: skip
    text = orjson.dumps(event).decode()
    cursor.execute(SQL["event"], [uuid7(), user_id, f"application.{verb}", text, str(uuid4()), now])


@accept_methods("PUT")
def move(request: HttpRequest, application_id: str) -> HttpResponse:
    """PUT the status of an application."""
    user_id, label = caller_of(request)
    body = body_of(request)
    to, changed_by = body.get("status"), body.get("updated_by")
    if to not in work.STATUSES or not isinstance(changed_by, str) or not 1 <= len(changed_by) <= 255:
        raise Rejection(400, "validation_error")
    reason, metadata = body.get("reason"), body.get("metadata")
    if reason is not None and not isinstance(reason, str):
        raise Rejection(400, "validation_error")
    identifier, now = identifier_of(application_id), datetime.now(UTC)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SQL["get_to_move"], [identifier, user_id])
        row = cursor.fetchone()
        if row is None:
            raise Rejection(404, "application_not_found")
        before, moves = row[4], row[-1]
        if to not in work.TRANSITIONS.get(before, ()):
            raise Rejection(400, "invalid_application_transition")
        cursor.execute(SQL["update"], [to, moves + 1, reason, now, identifier, before, moves])
        if cursor.rowcount != 1:
            raise Rejection(400, "invalid_application_transition")
        text = None if metadata is None else orjson.dumps(metadata).decode()
        values = [uuid7(), identifier, moves + 1, to, before, changed_by, now, reason, text, user_id, label]
        cursor.execute(SQL["history"], values)
        write_event(cursor, user_id, to, identifier, to, row[2], row[3], now)
    return json_response(render(to_dict(row[:-1]) | {"status": to, "updated_at": now, "status_reason": reason}))


@accept_methods("GET")
def fee(request: HttpRequest) -> HttpResponse:
    """GET the fee for an amount."""
    caller_of(request)
    text = request.GET.get("amount", "")
    if not text.isdigit() or not 0 < int(text) < INT64:
        raise Rejection(400, "invalid_amount")
    return json_response(orjson.dumps(work.quote_of(int(text))))


urlpatterns = [
    path("v1/applications", list_or_create),
    path("v1/applications/<str:application_id>", retrieve),
    path("v1/applications/<str:application_id>/status", move),
    path("v1/payments/calculate-fee", fee),
]
application = get_wsgi_application()
