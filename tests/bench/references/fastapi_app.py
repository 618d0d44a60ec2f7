"""FastAPI with pydantic models, SQLAlchemy 2 in its asynchronous form, and asyncpg: one session per request.

Credentials are remembered as briefly as the platform does. Served as
`uvicorn tests.bench.references.fastapi_app:app` with two processes, uvloop and httptools.
"""

import hashlib
import hmac
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import jwt
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator
from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from uuid_utils.compat import uuid7

from tests.bench.references.fastapi_tables import Application, Event, Family, History, Key, Offer, Record

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
Int64 = Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]

# As many connections as the platform's threads; a process opens them when it needs them.
engine = create_async_engine(
    "postgresql+asyncpg://" + os.environ["DATABASE_URL"].partition("://")[2], pool_size=8, max_overflow=0
)
sessions = async_sessionmaker(engine, expire_on_commit=False)


class ApplicationOut(BaseModel):
    """An application as it is shown."""

    model_config = ConfigDict(from_attributes=True)
    id: UUID
    consumer_id: str
    offer_id: int
    provider_id: int
    status: str
    created_at: datetime
    updated_at: datetime
    application_data: Any
    notes: str | None
    reviewed_at: datetime | None
    reviewed_by: str | None
    status_reason: str | None
    submitted_at: datetime | None

    @field_validator("consumer_id", mode="before")
    @classmethod
    def as_text(cls, value: Any) -> str:
        """Show the account's id as text."""
        return str(value)


class ApplicationIn(BaseModel):
    """CreateApplication."""

    consumer_id: str = Field(min_length=1, max_length=255)
    offer_id: Int64
    provider_id: Int64
    application_data: Any = None
    initial_status: Status | None = "draft"


class StatusIn(BaseModel):
    """UpdateApplicationStatus."""

    status: Status
    updated_by: str = Field(min_length=1, max_length=255)
    reason: str | None = Field(default=None, max_length=10_000)
    metadata: Any = None


class Fee(BaseModel):
    """A fee quote."""

    amount_cents: int
    fee_amount_cents: int
    fee_percentage: float
    net_amount_cents: int


class Caller(BaseModel):
    """Who calls."""

    user_id: int
    label: str
    secret: str = ""


_remembered: dict[str, tuple[Caller, float]] = {}


async def check_token(text: str) -> tuple[Caller, float]:
    """Verify an access token and ask whether its log-in still counts."""
    try:
        claims = jwt.decode(
            text, PUBLIC_KEY, algorithms=["ES256"], audience=BASE_URL, issuer=BASE_URL,
            options={"require": ["exp", "iat", "sub", "jti"]},
        )  # fmt: skip
    except jwt.PyJWTError as error:
        raise HTTPException(401, "invalid_token") from error
    async with sessions() as session:
        family = await session.get(Family, UUID(claims["sid"]))
    if (
        family is None
        or family.revoked_at is not None
        or not family.user.is_active
        or family.created_at < family.user.credentials_changed_at
        or str(family.user_id) != claims["sub"]
        or claims.get("token_type") != "access"
    ):
        raise HTTPException(401, "invalid_token")
    lifetime = min(REMEMBERED_SECONDS, claims["exp"] - time.time())
    return Caller(user_id=family.user_id, label=f"jwt:{family.id}"), time.monotonic() + lifetime


async def check_key(text: str) -> tuple[Caller, float]:
    """Look an API key up."""
    now = datetime.now(UTC)
    async with sessions() as session:
        key = await session.get(Key, text[8:20])
        if key is None or not hmac.compare_digest(key.digest, hashlib.sha256(text.encode()).hexdigest()):
            raise HTTPException(401, "invalid_token")
        if key.revoked_at is not None or key.expires_at <= now or not key.owner.is_active:
            raise HTTPException(401, "key_expired_or_revoked")
        if key.last_used_at is None or now - key.last_used_at > timedelta(minutes=1):
            key.last_used_at = now
            await session.commit()
    secret = FERNET.decrypt(key.secret.encode()).decode()
    caller = Caller(user_id=key.owner_id, label=f"api_key:{key.id}", secret=secret)
    return caller, time.monotonic() + REMEMBERED_SECONDS


async def remember(text: str, check: Any) -> Caller:
    """Return a check that still holds, or make it."""
    found = _remembered.get(text)
    if found is None or found[1] <= time.monotonic():
        found = _remembered[text] = await check(text)
    return found[0]


async def caller_of(
    request: Request,
    authorization: Annotated[str | None, Header()] = None,
    x_api_key: Annotated[str | None, Header()] = None,
    x_service_timestamp: Annotated[str, Header()] = "",
    x_service_signature: Annotated[str, Header()] = "",
) -> Caller:
    """Return who calls."""
    if x_api_key is not None:
        return await remember(x_api_key, check_key)
    scheme, _, text = (authorization or "").partition(" ")
    if scheme != "Bearer":
        raise HTTPException(401, "authentication_required")
    if not text.startswith("ck_test_"):
        return await remember(text, check_token)
    caller = await remember(text, check_key)
    if not x_service_timestamp.isdigit() or abs(time.time() - int(x_service_timestamp)) > 300:
        raise HTTPException(401, "timestamp_out_of_range")
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    message = f"{x_service_timestamp}{request.method}{target}".encode() + await request.body()
    expected = hmac.new(caller.secret.encode(), message, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, x_service_signature):
        raise HTTPException(401, "invalid_signature")
    return caller


async def session_of() -> AsyncIterator[AsyncSession]:
    """Open a session for one request."""
    async with sessions() as session:
        yield session


Session = Annotated[AsyncSession, Depends(session_of)]
Known = Annotated[Caller, Depends(caller_of)]


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Close the connections at the end."""
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan, openapi_url=None)


@app.get("/v1/applications")
async def many(
    caller: Known,
    session: Session,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> list[ApplicationOut]:
    """List the caller's applications, newest first."""
    page = (
        select(Application.id)
        .where(Application.consumer_id == caller.user_id)
        .order_by(Application.id.desc())
        .limit(limit)
        .offset(offset)
    )
    found = await session.scalars(select(Application).where(Application.id.in_(page)).order_by(Application.id.desc()))
    return found.all()


@app.get("/v1/applications/{application_id}")
async def one(application_id: UUID, caller: Known, session: Session) -> ApplicationOut:
    """Return an application."""
    found = await session.get(Application, application_id)
    if found is None or found.consumer_id != caller.user_id:
        raise HTTPException(404, "application_not_found")
    return found


@app.post("/v1/applications", status_code=201)
async def create(
    body: ApplicationIn,
    request: Request,
    caller: Known,
    session: Session,
    idempotency_key: Annotated[UUID, Header()],
) -> ApplicationOut:
    """Make an application, at most once per key."""
    if body.consumer_id != str(caller.user_id):
        raise HTTPException(401, "user_mismatch")
    now = datetime.now(UTC)
    digest = hashlib.sha256(f"{request.method}\n{request.url.path}\n".encode())
    digest.update(json.dumps(await request.json(), sort_keys=True, separators=(",", ":")).encode())
    fingerprint = digest.hexdigest()
    lock = hashlib.sha256(b"%d:%b" % (caller.user_id, idempotency_key.bytes)).digest()[:8]
    taken = await session.scalar(select(func.pg_try_advisory_xact_lock(int.from_bytes(lock, "big", signed=True))))
    if not taken:
        raise HTTPException(409, "request_in_progress")
    stored = await session.scalar(
        select(Record).where(Record.owner_id == caller.user_id, Record.key == idempotency_key)
    )
    if stored is not None:
        if stored.fingerprint != fingerprint:
            raise HTTPException(422, "idempotency_mismatch")
        return Response(stored.body, stored.status, media_type="application/json")
    offer = await session.get(Offer, body.offer_id)
    if offer is not None and not offer.is_active:
        raise HTTPException(400, "offer_unavailable")
    made = Application(
        id=uuid7(),
        consumer_id=caller.user_id,
        offer_id=body.offer_id,
        provider_id=body.provider_id,
        status=body.initial_status or "draft",
        initial_status=body.initial_status or "draft",
        moves=0,
        application_data=body.application_data,
        data_changed_by_id=caller.user_id,
        created_at=now,
        updated_at=now,
    )
    session.add(made)
    session.add(event_of("created", made, now))
    await session.flush()
    content = ApplicationOut.model_validate(made).model_dump_json().encode()
    session.add(
        Record(
            owner_id=caller.user_id,
            key=idempotency_key,
            fingerprint=fingerprint,
            status=201,
            body=content,
            created_at=now,
        )
    )
    try:
        await session.commit()
    except IntegrityError as error:
        raise HTTPException(409, "request_in_progress") from error
    return Response(content, 201, media_type="application/json")


def event_of(verb: str, application: Application, now: datetime) -> Event:
    """Return the event about an application."""
    return Event(
        account_id=application.consumer_id,
        type=f"application.{verb}",
        object={
            "application_id": str(application.id),
            "status": application.status,
            "offer_id": application.offer_id,
            "provider_id": application.provider_id,
        },
        request_id=str(uuid4()),
        created_at=now,
    )


@app.put("/v1/applications/{application_id}/status")
async def move(application_id: UUID, body: StatusIn, caller: Known, session: Session) -> ApplicationOut:
    """Move an application to another status."""
    now = datetime.now(UTC)
    found = await session.get(Application, application_id)
    if found is None or found.consumer_id != caller.user_id:
        raise HTTPException(404, "application_not_found")
    before, moves = found.status, found.moves
    if body.status not in TRANSITIONS.get(before, ()):
        raise HTTPException(400, "invalid_application_transition")
    changed = await session.execute(
        update(Application)
        .where(Application.id == application_id, Application.status == before, Application.moves == moves)
        .values(status=body.status, moves=moves + 1, status_reason=body.reason, updated_at=now)
    )
    if changed.rowcount != 1:
        raise HTTPException(400, "invalid_application_transition")
    session.add(
        History(
            application_id=application_id,
            position=moves + 1,
            status=body.status,
            previous_status=before,
            changed_by=body.updated_by,
            changed_at=now,
            reason=body.reason,
            metadata_=body.metadata,
            principal_id=caller.user_id,
            credential=caller.label,
        )
    )
    session.add(event_of(body.status, found, now))
    await session.commit()
    return found


@app.get("/v1/payments/calculate-fee")
async def fee(_caller: Known, amount: Annotated[int, Query(ge=1, lt=2**63)]) -> Fee:
    """Quote the processing fee."""
    rate = 150 if amount < 1_000_000 else 125 if amount <= 10_000_000 else 100
    cents = (amount * rate + 5000) // 10_000
    return Fee(amount_cents=amount, fee_amount_cents=cents, fee_percentage=rate / 100, net_amount_cents=amount - cents)
