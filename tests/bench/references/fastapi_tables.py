"""The platform's tables as mapped classes of SQLAlchemy."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, DateTime, ForeignKey, LargeBinary, SmallInteger, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator
from uuid_utils.compat import uuid7


class Document(TypeDecorator):
    """JSON stored as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    def process_result_value(self, value, dialect):
        return None if value is None else json.loads(value)


class Base(DeclarativeBase):
    """Maps datetimes to timestamptz and integers to bigint."""

    type_annotation_map = {datetime: DateTime(timezone=True), int: BigInteger, str: Text}


class User(Base):
    __tablename__ = "identity_user"
    id: Mapped[int] = mapped_column(primary_key=True)
    is_active: Mapped[bool]
    credentials_changed_at: Mapped[datetime]


class Family(Base):
    __tablename__ = "identity_tokenfamily"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("identity_user.id"))
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class Key(Base):
    __tablename__ = "identity_apikey"
    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("identity_user.id"))
    digest: Mapped[str]
    secret: Mapped[str]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    owner: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class Offer(Base):
    __tablename__ = "credit_offer"
    id: Mapped[int] = mapped_column(primary_key=True)
    is_active: Mapped[bool]


class Application(Base):
    __tablename__ = "credit_application"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    consumer_id: Mapped[int]
    offer_id: Mapped[int]
    provider_id: Mapped[int]
    status: Mapped[str]
    initial_status: Mapped[str]
    moves: Mapped[int]
    counteroffer_moves: Mapped[int] = mapped_column(default=0, deferred=True)
    application_data: Mapped[Any] = mapped_column(Document)
    applicants: Mapped[Any] = mapped_column(Text)
    share: Mapped[Any] = mapped_column(Document)
    data_changed_by_id: Mapped[int | None]
    notes: Mapped[str | None]
    reviewed_at: Mapped[datetime | None]
    reviewed_by: Mapped[str | None]
    status_reason: Mapped[str | None]
    submitted_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class History(Base):
    __tablename__ = "credit_applicationhistory"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    application_id: Mapped[UUID]
    position: Mapped[int]
    status: Mapped[str]
    previous_status: Mapped[str]
    changed_by: Mapped[str]
    changed_at: Mapped[datetime]
    reason: Mapped[str | None]
    metadata_: Mapped[Any] = mapped_column("metadata", Document)
    principal_id: Mapped[int]
    credential: Mapped[str]


class Event(Base):
    __tablename__ = "webhooks_event"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    account_id: Mapped[int]
    type: Mapped[str]
    object: Mapped[Any] = mapped_column(Document)
    request_id: Mapped[str]
    created_at: Mapped[datetime]


class Record(Base):
    __tablename__ = "api_idempotencyrecord"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    owner_id: Mapped[int]
    key: Mapped[UUID]
    fingerprint: Mapped[str]
    status: Mapped[int] = mapped_column(SmallInteger)
    body: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]
    permanent: Mapped[bool] = mapped_column(default=False)
    subject: Mapped[str] = mapped_column(default="")
