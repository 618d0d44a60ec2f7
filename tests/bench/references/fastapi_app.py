"""FastAPI with pydantic models, asynchronous SQLAlchemy 2, and asyncpg, with a session per request.

Credentials are cached for as long as in the platform. Run it with `uvicorn tests.bench.references.fastapi_app:app`, two
processes, uvloop, and httptools.
"""

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator
from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from uuid_utils.compat import uuid7

from tests.bench.references import work
from tests.bench.references.fastapi_tables import Application, Event, Family, History, Key, Offer, Record

Status = Literal[
    "draft", "submitted", "under_review", "pending_documents", "approved", "rejected", "withdrawn", "expired"
]
Int64 = Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]

# Each process opens at most as many connections as a platform process has threads.
engine = create_async_engine(
    "postgresql+asyncpg://" + os.environ["DATABASE_URL"].partition("://")[2], pool_size=8, max_overflow=0
)
sessions = async_sessionmaker(engine, expire_on_commit=False)


class ApplicationOut(BaseModel):
    """An application in a response."""

    model_config = ConfigDict(from_attributes=True)
    id: UUID
    consumer_id: str
    offer_id: int
    provider_id: int
    status: str
    created_at: datetime
    updated_at: datetime
    application_data: Any
    applicants: Any
    share: Any
    notes: str | None
    reviewed_at: datetime | None
    reviewed_by: str | None
    status_reason: str | None
    submitted_at: datetime | None

    @field_validator("consumer_id", mode="before")
    @classmethod
    def as_text(cls, value: Any) -> str:
        """Return the account ID as a string."""
        return str(value)


class ApplicationIn(BaseModel):
    """The request body that creates an application."""

    consumer_id: str = Field(min_length=1, max_length=255)
    offer_id: Int64
    provider_id: Int64
    application_data: Any = None
    initial_status: Status | None = "draft"


class StatusIn(BaseModel):
    """The request body that changes the status of an application."""

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
    """The account and the credential of a request."""

    user_id: int
    label: str
    secret: str = ""


_remembered: dict[str, tuple[Caller, float]] = {}


async def check_token(text: str) -> tuple[Caller, float]:
    """Verify an access token, and check that its log-in is still valid."""
    claims = work.claims_of(text)
    if claims is None:
        raise HTTPException(401, "invalid_token")
    async with sessions() as session:
        family = await session.get(Family, UUID(claims["sid"]))
    if (
        family is None
        or family.revoked_at is not None
        or not family.user.is_active
        or family.created_at < family.user.credentials_changed_at
        or str(family.user_id) != claims["sub"]
    ):
        raise HTTPException(401, "invalid_token")
    return Caller(user_id=family.user_id, label=f"jwt:{family.id}"), work.remembered_until(claims)


async def check_key(text: str) -> tuple[Caller, float]:
    """Look up an API key, and check that it is valid."""
    now = datetime.now(UTC)
    async with sessions() as session:
        key = await session.get(Key, text[8:20])
        if key is None or not work.is_the_key(key.digest, text):
            raise HTTPException(401, "invalid_token")
        if key.revoked_at is not None or key.expires_at <= now or not key.owner.is_active:
            raise HTTPException(401, "key_expired_or_revoked")
        if key.last_used_at is None or now - key.last_used_at > timedelta(minutes=1):
            key.last_used_at = now
            await session.commit()
    secret = work.FERNET.decrypt(key.secret.encode()).decode()
    return Caller(user_id=key.owner_id, label=f"api_key:{key.id}", secret=secret), work.remembered_until()


async def remember(text: str, check: Any) -> Caller:
    """Return the cached result of a check while it is valid; otherwise run the check."""
    response = _remembered.get(text)
    if response is None or response[1] <= time.monotonic():
        response = _remembered[text] = await check(text)
    return response[0]


async def caller_of(
    request: Request,
    authorization: Annotated[str | None, Header()] = None,
    x_api_key: Annotated[str | None, Header()] = None,
    x_service_timestamp: Annotated[str, Header()] = "",
    x_service_signature: Annotated[str, Header()] = "",
) -> Caller:
    """Authenticate a request; return its caller."""
    if x_api_key is not None:
        return await remember(x_api_key, check_key)
    scheme, _, text = (authorization or "").partition(" ")
    if scheme != "Bearer":
        raise HTTPException(401, "authentication_required")
    if not text.startswith("ck_test_"):
        return await remember(text, check_token)
    caller = await remember(text, check_key)
    if not work.is_timely(x_service_timestamp):
        raise HTTPException(401, "timestamp_out_of_range")
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    signed = (x_service_timestamp, request.method, target, await request.body())
    if not work.is_signed(caller.secret, *signed, x_service_signature):
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
    """Close the database connections when the server stops."""
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan, openapi_url=None)


@app.get("/v1/applications")
async def list_applications(
    caller: Known,
    session: Session,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> list[ApplicationOut]:
    """List the caller's applications, newest first."""
    newest = Application.id.desc()
    page = select(Application.id).where(Application.consumer_id == caller.user_id).order_by(newest)
    chosen = Application.id.in_(page.limit(limit).offset(offset))
    rows = await session.scalars(select(Application).where(chosen).order_by(newest))
    return rows.all()


@app.get("/v1/applications/{application_id}")
async def retrieve(application_id: UUID, caller: Known, session: Session) -> ApplicationOut:
    """Return an application."""
    response = await session.get(Application, application_id)
    if response is None or response.consumer_id != caller.user_id:
        raise HTTPException(404, "application_not_found")
    return response


@app.post("/v1/applications", status_code=201)
async def create(
    body: ApplicationIn, request: Request, caller: Known, session: Session, idempotency_key: Annotated[UUID, Header()]
) -> ApplicationOut:
    """Create an application, at most once per Idempotency-Key."""
    if body.consumer_id != str(caller.user_id):
        raise HTTPException(401, "user_mismatch")
    now = datetime.now(UTC)
    canonical = json.dumps(await request.json(), sort_keys=True, separators=(",", ":")).encode()
    fingerprint = work.fingerprint_of(request.method, request.url.path, canonical)
    lock = work.lock_of(caller.user_id, idempotency_key.bytes)
    taken = await session.scalar(select(func.pg_try_advisory_xact_lock(lock)))
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
    status = body.initial_status or "draft"
    application = Application(
        id=uuid7(), consumer_id=caller.user_id, offer_id=body.offer_id, provider_id=body.provider_id, status=status,
        initial_status=status, moves=0, share=[], application_data=body.application_data,
        data_changed_by_id=caller.user_id, created_at=now, updated_at=now,
    )  # fmt: skip
    session.add(application)
    session.add(event_of("created", application, now))
    await session.flush()
    content = ApplicationOut.model_validate(application).model_dump_json().encode()
    record = {"fingerprint": fingerprint, "status": 201, "body": content, "created_at": now}
    session.add(Record(owner_id=caller.user_id, key=idempotency_key, **record))
    try:
        await session.commit()
    except IntegrityError as error:
        raise HTTPException(409, "request_in_progress") from error
    return Response(content, 201, media_type="application/json")


def event_of(verb: str, application: Application, now: datetime) -> Event:
    """Build the event for a created or changed application."""
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
    """Change the status of an application."""
    now = datetime.now(UTC)
    response = await session.get(Application, application_id)
    if response is None or response.consumer_id != caller.user_id:
        raise HTTPException(404, "application_not_found")
    before, moves = response.status, response.moves
    if body.status not in work.TRANSITIONS.get(before, ()):
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
            application_id=application_id, position=moves + 1, status=body.status, previous_status=before,
            changed_by=body.updated_by, changed_at=now, reason=body.reason, metadata_=body.metadata,
            principal_id=caller.user_id, credential=caller.label,
        )
    )  # fmt: skip
    session.add(event_of(body.status, response, now))
    await session.commit()
    return response


@app.get("/v1/payments/calculate-fee")
async def fee(_caller: Known, amount: Annotated[int, Query(ge=1, lt=2**63)]) -> Fee:
    """Quote the processing fee."""
    return Fee(**work.quote_of(amount))
