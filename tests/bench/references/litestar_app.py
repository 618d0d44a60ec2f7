"""Litestar with msgspec structs and hand-written SQL on asyncpg, no ORM: about the quickest that Python frameworks do.

Credentials are remembered as briefly as the platform does. Served as
`uvicorn tests.bench.references.litestar_app:app` with two processes, uvloop and httptools.
"""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID, uuid4

import asyncpg
import msgspec
from litestar import Litestar, Request, Response, get, post, put
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.params import Parameter
from msgspec import Meta
from uuid_utils.compat import uuid7

from tests.bench.references import work

SQL = work.STATEMENTS
Status = Literal[
    "draft", "submitted", "under_review", "pending_documents", "approved", "rejected", "withdrawn", "expired"
]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


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
    applicants: Any = None
    share: Any = ()
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
    claims = work.claims_of(text)
    if claims is None:
        raise HTTPException("invalid_token", status_code=401)
    family = await pool.fetchrow(SQL["family"], UUID(claims["sid"]))
    if family is None or not family[1] or str(family[0]) != claims["sub"]:
        raise HTTPException("invalid_token", status_code=401)
    return Caller(family[0], f"jwt:{claims['sid']}", "", work.remembered_until(claims))


async def check_key(pool: asyncpg.Pool, text: str) -> Caller:
    """Look an API key up."""
    now, identifier = datetime.now(UTC), text[8:20]
    key = await pool.fetchrow(SQL["key"], identifier)
    if key is None or not work.is_the_key(key[0], text):
        raise HTTPException("invalid_token", status_code=401)
    _digest, secret, user_id, is_open, last_used_at = key
    if not is_open:
        raise HTTPException("key_expired_or_revoked", status_code=401)
    if last_used_at is None or now - last_used_at > timedelta(minutes=1):
        await pool.execute(SQL["key_used"], now, identifier)
    opened = work.FERNET.decrypt(secret.encode()).decode()
    return Caller(user_id, f"api_key:{identifier}", opened, work.remembered_until())


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
    if not work.is_timely(timestamp):
        raise HTTPException("timestamp_out_of_range", status_code=401)
    target, query = request.scope["raw_path"], request.scope["query_string"]
    if query:
        target += b"?" + query
    signed = (timestamp, request.method, target.decode(), await request.body())
    if not work.is_signed(caller.secret, *signed, headers.get("x-service-signature", "")):
        raise HTTPException("invalid_signature", status_code=401)
    return caller


def shown(row: asyncpg.Record) -> ApplicationOut:
    """Return the answer for one row."""
    identifier, consumer_id, *plain, data, applicants, share, notes, reviewed_at, reviewed_by, reason, submitted = row
    document, shared = (None if text is None else msgspec.Raw(text) for text in (data, share))
    rest = (document, applicants, shared, notes, reviewed_at, reviewed_by, reason, submitted)
    return ApplicationOut(identifier, str(consumer_id), *plain, *rest)


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
    rows = await request.app.state.pool.fetch(SQL["list"], caller.user_id, limit, offset)
    return [shown(row) for row in rows]


@get("/v1/applications/{application_id:uuid}")
async def one(request: Request, application_id: UUID, caller: Caller) -> ApplicationOut:
    """Return an application."""
    row = await request.app.state.pool.fetchrow(SQL["get"], application_id, caller.user_id)
    if row is None:
        raise HTTPException("application_not_found", status_code=404)
    return shown(row)


@post("/v1/applications")
async def create(
    request: Request, caller: Caller, idempotency_key: Annotated[UUID, Parameter(header="Idempotency-Key")]
) -> Response[bytes]:
    """Make an application, at most once per key."""
    data = await body_of(request, ApplicationIn)
    if data.consumer_id != str(caller.user_id):
        raise HTTPException("user_mismatch", status_code=401)
    now = datetime.now(UTC)
    canonical = msgspec.json.encode(msgspec.json.decode(await request.body()), order="deterministic")
    fingerprint = work.fingerprint_of(request.method, request.scope["path"], canonical)
    try:
        async with request.app.state.pool.acquire() as connection, connection.transaction():
            if not await connection.fetchval(SQL["lock"], work.lock_of(caller.user_id, idempotency_key.bytes)):
                raise HTTPException("request_in_progress", status_code=409)
            since = now - timedelta(hours=work.KEPT_HOURS)
            stored = await connection.fetchrow(SQL["find_record"], caller.user_id, idempotency_key, since)
            if stored is not None:
                if stored["fingerprint"] != fingerprint:
                    raise HTTPException("idempotency_mismatch", status_code=422)
                return Response(stored["body"], status_code=stored["status"], media_type="application/json")
            if await connection.fetchval(SQL["offer"], data.offer_id) is False:
                raise HTTPException("offer_unavailable", status_code=400)
            status, document = data.initial_status or "draft", text_of(data.application_data)
            made = ApplicationOut(
                uuid7(), data.consumer_id, data.offer_id, data.provider_id, status, now, now, data.application_data
            )
            whose = (made.id, caller.user_id, made.offer_id, made.provider_id)
            values = (status, status, 0, 0, "[]", document, caller.user_id, now, now)
            await connection.execute(SQL["insert"], *whose, *values)
            await write_event(connection, caller, "created", made, now)
            content = msgspec.json.encode(made)
            kept = (uuid7(), caller.user_id, idempotency_key, fingerprint, 201, content, now)
            await connection.execute(SQL["record"], *kept)
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
    await connection.execute(SQL["event"], uuid7(), caller.user_id, kind, text_of(event), str(uuid4()), now)


@put("/v1/applications/{application_id:uuid}/status")
async def move(request: Request, application_id: UUID, caller: Caller) -> ApplicationOut:
    """Move an application to another status."""
    data = await body_of(request, StatusIn)
    now = datetime.now(UTC)
    async with request.app.state.pool.acquire() as connection, connection.transaction():
        row = await connection.fetchrow(SQL["get_to_move"], application_id, caller.user_id)
        if row is None:
            raise HTTPException("application_not_found", status_code=404)
        *columns, moves = row
        found = shown(columns)
        before = found.status
        if data.status not in work.TRANSITIONS.get(before, ()):
            raise HTTPException("invalid_application_transition", status_code=400)
        changes = (data.status, moves + 1, data.reason, now)
        changed = await connection.fetchval(SQL["update"], *changes, application_id, before, moves)
        if changed is None:
            raise HTTPException("invalid_application_transition", status_code=400)
        told = (data.updated_by, now, data.reason, text_of(data.metadata), caller.user_id, caller.label)
        await connection.execute(SQL["history"], uuid7(), application_id, moves + 1, data.status, before, *told)
        found.status, found.status_reason, found.updated_at = data.status, data.reason, now
        await write_event(connection, caller, data.status, found, now)
    return found


@get("/v1/payments/calculate-fee")
async def fee(caller: Caller, amount: Annotated[int, Parameter(ge=1, le=2**63 - 1)]) -> Fee:
    """Quote the processing fee."""
    return Fee(**work.quote_of(amount))


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
