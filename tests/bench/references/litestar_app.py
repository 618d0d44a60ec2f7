"""Litestar with msgspec structs and hand-written SQL on asyncpg, no ORM: about the quickest that Python frameworks do.

Credentials are remembered as briefly as the platform does. Served as
`uvicorn tests.bench.references.litestar_app:app` with two processes, uvloop and httptools.
"""

import hashlib
import hmac
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID, uuid4

import asyncpg
import jwt
import msgspec
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from litestar import Litestar, Request, Response, get, post, put
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.params import Parameter
from msgspec import Meta
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
Status = Literal[
    "draft", "submitted", "under_review", "pending_documents", "approved", "rejected", "withdrawn", "expired"
]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

COLUMNS = (
    "id, consumer_id, offer_id, provider_id, status, created_at, updated_at, application_data, notes, reviewed_at,"
    " reviewed_by, status_reason, submitted_at"
)
GET_ONE = f"SELECT {COLUMNS} FROM credit_application WHERE id = $1 AND consumer_id = $2"
LIST = (
    f"SELECT {COLUMNS} FROM credit_application WHERE id IN (SELECT id FROM credit_application WHERE consumer_id = $1"
    " ORDER BY id DESC LIMIT $2 OFFSET $3) ORDER BY id DESC"
)
INSERT = (
    "INSERT INTO credit_application (id, consumer_id, offer_id, provider_id, status, initial_status, moves,"
    " application_data, data_changed_by_id, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5, 0, $6, $2, $7, $7)"
)
UPDATE = (
    "UPDATE credit_application SET status = $1, moves = $2 + 1, status_reason = $3, updated_at = $4"
    " WHERE id = $5 AND status = $6 AND moves = $2 RETURNING id"
)
INSERT_EVENT = (
    "INSERT INTO webhooks_event (id, account_id, type, object, request_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)"
)
INSERT_HISTORY = (
    "INSERT INTO credit_applicationhistory (id, application_id, position, status, previous_status, changed_by,"
    " changed_at, reason, metadata, principal_id, credential) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
)
FIND_RECORD = (
    "SELECT fingerprint, status, body FROM api_idempotencyrecord WHERE owner_id = $1 AND key = $2 AND created_at > $3"
)
INSERT_RECORD = (
    "INSERT INTO api_idempotencyrecord (id, owner_id, key, fingerprint, status, body, created_at, permanent, subject)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, false, '')"
)
FAMILY = (
    "SELECT u.id, f.revoked_at IS NULL AND u.is_active AND f.created_at >= u.credentials_changed_at AS is_open"
    " FROM identity_tokenfamily f JOIN identity_user u ON u.id = f.user_id WHERE f.id = $1"
)
KEY = (
    "SELECT k.id, k.digest, k.secret, k.owner_id, k.last_used_at,"
    " k.revoked_at IS NULL AND k.expires_at > now() AND u.is_active AS is_open"
    " FROM identity_apikey k JOIN identity_user u ON u.id = k.owner_id WHERE k.id = $1"
)


class ApplicationOut(msgspec.Struct):
    """An application as it is shown."""

    id: UUID
    consumer_id: str
    offer_id: int
    provider_id: int
    status: str
    created_at: datetime
    updated_at: datetime
    application_data: Any
    notes: str | None = None
    reviewed_at: datetime | None = None
    reviewed_by: str | None = None
    status_reason: str | None = None
    submitted_at: datetime | None = None


class ApplicationIn(msgspec.Struct):
    """CreateApplication."""

    consumer_id: Annotated[str, Meta(min_length=1, max_length=255)]
    offer_id: Int64
    provider_id: Int64
    application_data: Any = None
    initial_status: Status | None = "draft"


class StatusIn(msgspec.Struct):
    """UpdateApplicationStatus."""

    status: Status
    updated_by: Annotated[str, Meta(min_length=1, max_length=255)]
    reason: Annotated[str, Meta(max_length=10_000)] | None = None
    metadata: Any = None


class Fee(msgspec.Struct):
    """A fee quote."""

    amount_cents: int
    fee_amount_cents: int
    fee_percentage: float
    net_amount_cents: int


class Caller(msgspec.Struct):
    """Who calls; `until` is when what is remembered of it ends, in monotonic seconds."""

    user_id: int
    label: str
    secret: str
    until: float


Body = TypeVar("Body", ApplicationIn, StatusIn)
Check = Callable[[asyncpg.Pool, str], Awaitable[Caller]]
_remembered: dict[str, Caller] = {}


async def check_token(pool: asyncpg.Pool, text: str) -> Caller:
    """Verify an access token and ask whether its log-in still counts."""
    try:
        claims = jwt.decode(
            text, PUBLIC_KEY, algorithms=["ES256"], audience=BASE_URL, issuer=BASE_URL,
            options={"require": ["exp", "iat", "sub", "jti"]},
        )  # fmt: skip
    except jwt.PyJWTError as error:
        raise HTTPException("invalid_token", status_code=401) from error
    family = await pool.fetchrow(FAMILY, UUID(claims["sid"]))
    if (
        family is None
        or not family["is_open"]
        or str(family["id"]) != claims["sub"]
        or claims.get("token_type") != "access"
    ):
        raise HTTPException("invalid_token", status_code=401)
    lifetime = min(REMEMBERED_SECONDS, claims["exp"] - time.time())
    return Caller(family["id"], f"jwt:{claims['sid']}", "", time.monotonic() + lifetime)


async def check_key(pool: asyncpg.Pool, text: str) -> Caller:
    """Look an API key up."""
    now = datetime.now(UTC)
    key = await pool.fetchrow(KEY, text[8:20])
    if key is None or not hmac.compare_digest(key["digest"], hashlib.sha256(text.encode()).hexdigest()):
        raise HTTPException("invalid_token", status_code=401)
    if not key["is_open"]:
        raise HTTPException("key_expired_or_revoked", status_code=401)
    if key["last_used_at"] is None or now - key["last_used_at"] > timedelta(minutes=1):
        await pool.execute("UPDATE identity_apikey SET last_used_at = $1 WHERE id = $2", now, key["id"])
    secret = FERNET.decrypt(key["secret"].encode()).decode()
    return Caller(key["owner_id"], f"api_key:{key['id']}", secret, time.monotonic() + REMEMBERED_SECONDS)


async def remember(pool: asyncpg.Pool, text: str, check: Check) -> Caller:
    """Return a check that still holds, or make it."""
    found = _remembered.get(text)
    if found is None or found.until <= time.monotonic():
        found = _remembered[text] = await check(pool, text)
    return found


async def caller_of(request: Request) -> Caller:
    """Return who calls."""
    headers, pool = request.headers, request.app.state.pool
    key = headers.get("x-api-key")
    if key is not None:
        return await remember(pool, key, check_key)
    scheme, _, text = headers.get("authorization", "").partition(" ")
    if scheme != "Bearer":
        raise HTTPException("authentication_required", status_code=401)
    if not text.startswith("ck_test_"):
        return await remember(pool, text, check_token)
    caller = await remember(pool, text, check_key)
    timestamp = headers.get("x-service-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        raise HTTPException("timestamp_out_of_range", status_code=401)
    target, query = request.scope["raw_path"], request.scope["query_string"]
    if query:
        target += b"?" + query
    message = f"{timestamp}{request.method}".encode() + target + await request.body()
    expected = hmac.new(caller.secret.encode(), message, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, headers.get("x-service-signature", "")):
        raise HTTPException("invalid_signature", status_code=401)
    return caller


def shown(row: asyncpg.Record) -> ApplicationOut:
    """Return the answer for one row."""
    identifier, consumer_id, offer_id, provider_id, status, created_at, updated_at, data, *rest = row
    document = None if data is None else msgspec.Raw(data)
    return ApplicationOut(
        identifier, str(consumer_id), offer_id, provider_id, status, created_at, updated_at, document, *rest
    )


async def body_of(request: Request, kind: type[Body]) -> Body:
    """Return the JSON that was sent; strictly, where Litestar's own `data` takes "1" for a number."""
    if request.content_type[0] != "application/json":
        raise HTTPException("unsupported_media_type", status_code=415)
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except msgspec.DecodeError as error:
        raise HTTPException("validation_error", status_code=400) from error


def text_of(document: Any) -> str | None:
    """Return a document as it is kept."""
    return None if document is None else msgspec.json.encode(document).decode()


@get("/v1/applications")
async def many(
    request: Request,
    caller: Caller,
    limit: Annotated[int, Parameter(ge=1, le=100)] = 20,
    offset: Annotated[int, Parameter(ge=0)] = 0,
) -> list[ApplicationOut]:
    """List the caller's applications, newest first."""
    rows = await request.app.state.pool.fetch(LIST, caller.user_id, limit, offset)
    return [shown(row) for row in rows]


@get("/v1/applications/{application_id:uuid}")
async def one(request: Request, application_id: UUID, caller: Caller) -> ApplicationOut:
    """Return an application."""
    row = await request.app.state.pool.fetchrow(GET_ONE, application_id, caller.user_id)
    if row is None:
        raise HTTPException("application_not_found", status_code=404)
    return shown(row)


@post("/v1/applications")
async def create(
    request: Request,
    caller: Caller,
    idempotency_key: Annotated[UUID, Parameter(header="Idempotency-Key")],
) -> Response[bytes]:
    """Make an application, at most once per key."""
    data = await body_of(request, ApplicationIn)
    if data.consumer_id != str(caller.user_id):
        raise HTTPException("user_mismatch", status_code=401)
    now = datetime.now(UTC)
    digest = hashlib.sha256(f"{request.method}\n{request.scope['path']}\n".encode())
    digest.update(msgspec.json.encode(msgspec.json.decode(await request.body()), order="deterministic"))
    fingerprint = digest.hexdigest()
    lock = hashlib.sha256(b"%d:%b" % (caller.user_id, idempotency_key.bytes)).digest()[:8]
    try:
        async with request.app.state.pool.acquire() as connection, connection.transaction():
            number = int.from_bytes(lock, "big", signed=True)
            if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", number):
                raise HTTPException("request_in_progress", status_code=409)
            since = now - timedelta(hours=72)
            stored = await connection.fetchrow(FIND_RECORD, caller.user_id, idempotency_key, since)
            if stored is not None:
                if stored["fingerprint"] != fingerprint:
                    raise HTTPException("idempotency_mismatch", status_code=422)
                return Response(stored["body"], status_code=stored["status"], media_type="application/json")
            if await connection.fetchval("SELECT is_active FROM credit_offer WHERE id = $1", data.offer_id) is False:
                raise HTTPException("offer_unavailable", status_code=400)
            status, document = data.initial_status or "draft", text_of(data.application_data)
            made = ApplicationOut(
                id=uuid7(),
                consumer_id=data.consumer_id,
                offer_id=data.offer_id,
                provider_id=data.provider_id,
                status=status,
                created_at=now,
                updated_at=now,
                application_data=data.application_data,
            )
            await connection.execute(
                INSERT, made.id, caller.user_id, made.offer_id, made.provider_id, status, document, now
            )
            await write_event(connection, caller, "created", made, now)
            content = msgspec.json.encode(made)
            await connection.execute(
                INSERT_RECORD, uuid7(), caller.user_id, idempotency_key, fingerprint, 201, content, now
            )
    except asyncpg.IntegrityConstraintViolationError as error:
        raise HTTPException("request_in_progress", status_code=409) from error
    return Response(content, status_code=201, media_type="application/json")


async def write_event(
    connection: asyncpg.Connection, caller: Caller, verb: str, application: ApplicationOut, now: datetime
) -> None:
    """Write an event to the outbox."""
    event = {
        "application_id": application.id,
        "status": application.status,
        "offer_id": application.offer_id,
        "provider_id": application.provider_id,
    }
    kind = f"application.{verb}"
    await connection.execute(INSERT_EVENT, uuid7(), caller.user_id, kind, text_of(event), str(uuid4()), now)


@put("/v1/applications/{application_id:uuid}/status")
async def move(request: Request, application_id: UUID, caller: Caller) -> ApplicationOut:
    """Move an application to another status."""
    data = await body_of(request, StatusIn)
    now = datetime.now(UTC)
    async with request.app.state.pool.acquire() as connection, connection.transaction():
        row = await connection.fetchrow(
            f"SELECT {COLUMNS}, moves FROM credit_application WHERE id = $1 AND consumer_id = $2",
            application_id,
            caller.user_id,
        )
        if row is None:
            raise HTTPException("application_not_found", status_code=404)
        *columns, moves = row
        found = shown(columns)
        before = found.status
        if data.status not in TRANSITIONS.get(before, ()):
            raise HTTPException("invalid_application_transition", status_code=400)
        changed = await connection.fetchval(UPDATE, data.status, moves, data.reason, now, application_id, before)
        if changed is None:
            raise HTTPException("invalid_application_transition", status_code=400)
        await connection.execute(
            INSERT_HISTORY,
            uuid7(),
            application_id,
            moves + 1,
            data.status,
            before,
            data.updated_by,
            now,
            data.reason,
            text_of(data.metadata),
            caller.user_id,
            caller.label,
        )
        found.status, found.status_reason, found.updated_at = data.status, data.reason, now
        await write_event(connection, caller, data.status, found, now)
    return found


@get("/v1/payments/calculate-fee")
async def fee(caller: Caller, amount: Annotated[int, Parameter(ge=1, le=2**63 - 1)]) -> Fee:
    """Quote the processing fee."""
    rate = 150 if amount < 1_000_000 else 125 if amount <= 10_000_000 else 100
    cents = (amount * rate + 5000) // 10_000
    return Fee(amount, cents, rate / 100, amount - cents)


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncIterator[None]:
    """Keep connections while it runs: as many as the platform's threads, opened when they are needed."""
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=0, max_size=8) as app.state.pool:
        yield


app = Litestar(
    [many, one, create, move, fee],
    dependencies={"caller": Provide(caller_of)},
    lifespan=[lifespan],
    openapi_config=None,
)
