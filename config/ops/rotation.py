"""Rotation of the encryption key: encrypt all stored values again with the first key, each for its place.

Servers can run during a rotation. The first rotation moves the mode from `unbound` to `binding` and then to `bound`
(`config.core.encryption`):

1. The mode becomes `binding`. After at most REREAD_SECONDS, every process writes bound values.
2. `_settle` waits for statements that began before the change. Then no process writes unbound values.
3. The rotation encrypts every stored value as a bound value.
4. The mode becomes `bound`: every process rejects unbound values.

An interrupted rotation can be run again. It skips values that are bound with the first key.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core import checks
from django.db import DatabaseError, connections, models, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Left, Substr

from config.api.idempotency import place_of
from config.api.models import IdempotencyRecord
from config.core.encryption import (
    BINDING,
    BOUND,
    FERNET,
    MODES,
    REREAD_SECONDS,
    Sealed,
    UnreadableSecret,
    encrypted_fields,
    is_sealed,
    kind_of,
    mode,
    sealed_again,
)
from config.core.registration import declared
from config.ops.checks import DOCTOR, START, register
from config.ops.models import Installation

BATCH_ROWS = 500
SETTLE_SECONDS = 2 * REREAD_SECONDS
_LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class Column:
    """The encrypted values of one column. An app's `encrypted` declares columns without an EncryptedTextField."""

    kind: str
    rows: models.QuerySet[Any]  # must load the columns that the functions read
    unbound: Callable[[models.QuerySet[Any]], models.QuerySet[Any]]  # selects the rows with unbound values
    place: Callable[[Any], str]
    read: Callable[[Any], bytes]
    write: Callable[[Any, bytes], None]


@dataclass
class Rotated:
    rows: int = 0  # values that the first key now decrypts
    written: int = 0  # values that this rotation wrote
    unreadable: list[UnreadableSecret] = field(default_factory=list)


def rotate() -> Rotated:
    """Encrypt every stored value again with the first key."""
    if mode.read() != BOUND:
        _set_mode(BINDING)
        _settle()
    rotated = Rotated()
    for column in columns():
        _rotate_column(column, rotated)
    # Encrypt the sessions again. Otherwise, the mode `bound` would end them.
    store = SessionStore()
    for key in Session.objects.values_list("pk", flat=True).iterator(chunk_size=BATCH_ROWS):
        with transaction.atomic():
            session = Session.objects.select_for_update().filter(pk=key).first()
            if session is not None and (content := store.decode(session.session_data)):
                session.session_data = store.encode(content)
                session.save(update_fields=["session_data"])
    for compute_again in declared("blind_indexes"):
        compute_again()
    if mode.read() != BOUND:
        _set_mode(BOUND)
    return rotated


def discard(lost: Sequence[UnreadableSecret]) -> list[UnreadableSecret]:
    """Delete the values that no key decrypts, in columns that can be empty. Return the values that remain."""
    places = {kind_of(model, name): (model, name.attname) for model, name in encrypted_fields() if name.null}
    remaining = []
    for value in lost:
        if value.kind not in places:
            remaining.append(value)
            continue
        model, name = places[value.kind]
        try:
            with transaction.atomic():
                model._default_manager.filter(pk=value.record_id).update(**{name: None})
        except DatabaseError:  # the row's other columns require the value
            remaining.append(value)
    for compute_again in declared("blind_indexes"):
        compute_again()
    return remaining


def columns() -> list[Column]:
    return [*(_column_of(model, name) for model, name in encrypted_fields()), *declared("encrypted")]


def count_unbound() -> int:
    return sum(column.unbound(column.rows.all()).count() for column in columns())


def _column_of(model: type[models.Model], encrypted: Any) -> Column:
    name = encrypted.attname

    def write(row: Any, content: bytes) -> None:
        model._default_manager.filter(pk=row.pk).update(**{name: Sealed(content.decode())})

    return Column(
        kind=kind_of(model, encrypted),
        rows=model._default_manager.filter(**{f"{name}__isnull": False}).only("pk", name),
        unbound=lambda rows: rows.annotate(form=Left(name, len(FERNET))).filter(form=FERNET.decode()),
        place=lambda row: encrypted.place(row.pk),
        read=lambda row: row.__dict__[name].ciphertext.encode(),
        write=write,
    )


def _write_answer(record: IdempotencyRecord, content: bytes) -> None:
    record.body = content
    record.save(update_fields=["body"])


# Responses under an Idempotency-Key with secrets or personal data are encrypted.
ANSWERS = Column(
    kind="a response under an Idempotency-Key",
    rows=IdempotencyRecord.objects.only("owner_id", "key", "body"),
    unbound=lambda rows: rows.annotate(
        form=Substr("body", 1, len(FERNET), output_field=models.BinaryField())
    ).filter(form=FERNET),
    place=lambda record: place_of(record.owner_id, record.key),
    read=lambda record: bytes(record.body),
    write=_write_answer,
)  # fmt: skip


def _rotate_column(column: Column, rotated: Rotated) -> None:
    """Rotate the values in batches of locked rows, so that no write of a server is lost."""
    rows = batch = column.rows.order_by("pk")
    while True:
        with transaction.atomic():
            locked = list(batch.select_for_update(of=("self",))[:BATCH_ROWS])
            for row in locked:
                _rotate_value(column, row, rotated)
        if not locked:
            return
        batch = rows.filter(pk__gt=locked[-1].pk)


def _rotate_value(column: Column, row: Any, rotated: Rotated) -> None:
    content = column.read(row)
    if column is ANSWERS and not is_sealed(content):
        return
    fresh, is_readable = sealed_again(content, column.place(row))
    if fresh is not None:
        column.write(row, fresh)
    if not is_readable:
        rotated.unreadable.append(UnreadableSecret(column.kind, str(row.pk)))
        return
    rotated.rows += 1
    rotated.written += fresh is not None


def _set_mode(word: str) -> None:
    Installation.objects.exclude(encryption__in=MODES[MODES.index(word) :]).update(encryption=word)
    mode.forget()


def _settle() -> None:
    """Wait until every process has loaded the new mode, and until all earlier statements have ended."""
    connection = connections[router.db_for_write(Installation)]
    time.sleep(SETTLE_SECONDS)
    if connection.vendor == "postgresql":
        _wait_for_writers(connection, {column.rows.model._meta.db_table for column in columns()})
    else:
        # On SQLite, an INSERT can wait this long for another writer.
        time.sleep(SETTLE_SECONDS and connection.settings_dict["OPTIONS"].get("timeout", 0))


def _wait_for_writers(connection: BaseDatabaseWrapper, tables: Sequence[str] | set[str]) -> None:
    """Wait for current transactions that write to these tables, without blocking requests."""
    waiting: set[str] | None = None
    while waiting is None or waiting:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT virtualtransaction FROM pg_locks JOIN pg_class ON pg_class.oid = relation "
                "WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
                "AND relname = ANY(%s) AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()",
                [list(tables)],
            )
            writing = {name for (name,) in cursor.fetchall()}
        waiting = writing if waiting is None else waiting & writing
        if waiting:
            time.sleep(_LOOK_SECONDS)


def check_encryption_keys(**_options: Any) -> list[checks.CheckMessage]:
    """Check that the keys decrypt the last row of each encrypted column."""
    opened, closed = _open_the_last()
    return [_not_opened(closed)] if closed else [checks.Info(f"decrypted {opened} stored values")]


def check_keys_open_anything(**_options: Any) -> list[checks.CheckMessage]:
    """Check that the keys decrypt at least one value, so that one damaged value does not prevent the start."""
    opened, closed = _open_the_last()
    return [_not_opened(closed)] if closed and not opened else []


def check_encryption_mode(**_options: Any) -> list[checks.CheckMessage]:
    """Report whether encrypted values are bound to their rows, and count the unbound values."""
    word, unbound = mode.read(), count_unbound()
    text = f"mode {word}, {unbound} stored values are not bound to their rows"
    if word != BOUND:
        return [checks.Warning(f"{text}: run `rotate_encryption_key` once no server of version 1.0 runs")]
    if unbound:
        return [checks.Warning(f"{text}, and the program rejects them: another program wrote them")]
    return [checks.Info(text)]


def _open_the_last() -> tuple[int, list[str]]:
    """Return the number of decrypted values, and the columns whose last row could not be decrypted."""
    opened, closed = 0, []
    for model, encrypted in encrypted_fields():
        rows = model._default_manager.filter(**{f"{encrypted.name}__isnull": False}).order_by("-pk")
        last = rows.values_list("pk", encrypted.name).first()
        if last is None:
            continue
        pk, value = last
        try:
            encrypted.open(value, pk)
        except UnreadableSecret:
            closed.append(kind_of(model, encrypted))
        else:
            opened += 1
    return opened, closed


def _not_opened(kinds: list[str]) -> checks.Error:
    names = ", ".join(kinds)
    text = f"No key in FIELD_ENCRYPTION_KEYS decrypts the stored values of {names}: add the key that encrypted them."
    return checks.Error(text)


if settings.SERVICE == "platform":  # the ledger has no encrypted columns
    register(check_encryption_keys, DOCTOR)
    register(check_encryption_mode, DOCTOR)
    register(check_keys_open_anything, START)
