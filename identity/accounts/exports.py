"""Copies of an account's data (GDPR Articles 15 and 20). `process_privacy` creates a copy, available for 7 days.

The zip is encrypted while it is written to the document storage. The row of the export contains the key of the zip.
"""

import logging
from base64 import b64decode, b64encode
from collections.abc import Iterator
from datetime import datetime, timedelta
from secrets import token_hex
from tempfile import TemporaryFile
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.core.files import File
from django.core.files.storage import Storage, storages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import get_language

from config.core import audit
from config.core.errors import NotFound, Unavailable
from config.core.export import write_export
from config.core.ids import get_by_uuid
from config.core.lifecycle import Actor, audit_actor
from config.ops.failed_items import FailedItems, dead_letters
from identity.access.models import AccountHistory, User
from identity.accounts.addresses import mail_about_privacy
from identity.accounts.models import Export

logger = logging.getLogger("platform.privacy")

_LEASE = timedelta(minutes=10)
_NOT_FOUND = "Export not found."


def _storage() -> Storage:
    return storages["documents"]


def exports_of(actor: Actor, account_id: int) -> QuerySet[Export]:
    return Export.objects.filter(account=account_id, requested_by=actor.user.pk).order_by("-id")


def load_export(actor: Actor, account_id: int, export_id: str) -> Export:
    return get_by_uuid(exports_of(actor, account_id), export_id, NotFound(_NOT_FOUND))


def request_export(actor: Actor, account_id: int, *, now: datetime) -> Export:
    """Request an export of an account. A second request within 24 hours returns the first export."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).only("pk").get(pk=account_id)
        recent = exports_of(actor, account_id).filter(created_at__gt=now - Export.AGAIN_AFTER)
        if export := recent.exclude(status=Export.FAILED).first():
            return export
        AccountHistory.note("account.export_requested", actor, account_id=account_id, now=now)
        if account_id == actor.user.pk:
            mail_about_privacy(actor.user, "export_requested", now=now)
        language = (get_language() or "en")[:2]
        return Export.objects.create(account_id=account_id, requested_by=actor.user, language=language, created_at=now)


def read_export(actor: Actor, export: Export, *, now: datetime) -> Iterator[bytes]:
    """Return the content of a zip in chunks. Raises NotFound for an export without a file."""
    if export.as_of(now).status != Export.READY or not export.name:
        raise NotFound(f"The export has no file. Its status is {export.status}.")
    try:
        file = _storage().open(export.name)
    except Exception as error:  # the type of the error depends on the storage
        logger.exception("export %s cannot be read", export.pk)
        message = "The server can't read the export. Retry later, or request another export after 24 hours."
        raise Unavailable(message) from error
    entity = audit.entity(User._meta.label_lower, export.account_id)
    audit.emit("personal_data.export", actor=audit_actor(actor), entity=entity)
    return _chunks(file, b64decode(export.key))


def _chunks(file: Any, key: bytes) -> Iterator[bytes]:
    with file:
        yield from opened_chunks(file, key)


def process_exports(*, now: datetime) -> dict[str, int]:
    """Create requested exports, and delete expired exports.

    Return the numbers of created exports, expired exports, and failures.
    """
    finished, expired = list[Export](), list[Export]()

    def make(export: Export) -> None:
        if _make(export, now=now):
            finished.append(export)

    def expire(export: Export) -> None:
        _delete_file(export, Export.EXPIRED)
        expired.append(export)

    due = Export.objects.filter(status=Export.READY, expires_at__lte=now).order_by("id")
    failed = FailedItems("expired_export", due, lease=_LEASE).process(expire, now=now)
    waiting = Export.objects.filter(status=Export.PREPARING).order_by("id")
    failed += FailedItems("export", waiting, lease=_LEASE, failures_max=5).process(make, now=now)
    dead = list(dead_letters().filter(kind="export").values_list("key", flat=True))
    for export in waiting.filter(pk__in=dead):
        _delete_file(export, Export.FAILED)
    return {"exported": len(finished), "expired": len(expired), "failed": failed}


def _make(export: Export, *, now: datetime) -> bool:
    """Write the zip, then update the row. Return True if the export is ready. Each attempt writes a separate file."""
    claimed = _claim(export.pk)
    if claimed is None:
        return False
    name = str(claimed.name)
    try:
        with TemporaryFile() as file:
            writer = SealedWriter(file, b64decode(claimed.key))
            is_for_partner = claimed.requested_by_id != claimed.account_id
            write_export(claimed.account_id, writer, now=now, is_for_partner=is_for_partner)
            writer.close()
            file.seek(0)
            _storage().save(name, File(file))
        ready = {"status": Export.READY, "ready_at": now, "expires_at": now + Export.LASTS}
        with transaction.atomic():
            # The lock ensures that a later erasure finds the name of the file in the row.
            stored = Export.objects.select_for_update().filter(pk=export.pk, name=name).first()
            if stored is not None and stored.status == Export.PREPARING and stored.account.erased_at is None:
                if not is_for_partner:
                    mail_about_privacy(stored.account, "export_ready", language=stored.language, now=now)
                return bool(Export.objects.filter(pk=export.pk).update(**ready))
    except Exception:
        _storage().delete(name)
        Export.objects.filter(pk=export.pk, name=name).update(claimed_until=None)
        raise
    _storage().delete(name)
    return False


def _claim(key: Any) -> Export | None:
    """Reserve an export for this worker, with a new key and file name. Returns None if another worker has reserved it.

    If the process of an earlier attempt ended, the function deletes the file of that attempt.
    """
    now = timezone.now()
    free = Q(claimed_until__isnull=True) | Q(claimed_until__lte=now)
    with transaction.atomic():
        export = Export.objects.select_for_update().filter(free, pk=key, status=Export.PREPARING).first()
        if export is None:
            return None
        before, export.name = export.name, f"exports/{export.pk}-{token_hex(8)}"
        export.key, export.claimed_until = b64encode(new_key()).decode(), now + _LEASE
        export.save(update_fields=["name", "key", "claimed_until"])
    if before:
        _storage().delete(before)
    return export


def _delete_file(export: Export, status: str) -> None:
    with transaction.atomic():
        # The row is locked before the file is deleted. A worker that writes the file reads the status afterward.
        stored = Export.objects.select_for_update().get(pk=export.pk)
        stored.key, stored.status = "", status
        stored.save(update_fields=["key", "status"])
        if stored.name:
            _storage().delete(stored.name)


def delete_exports(user_id: int, *, now: datetime) -> None:  # noqa: ARG001  the signature of erasure steps
    """Delete the files of an account's exports. The erasure deletes the rows."""
    for export in Export.objects.filter(account=user_id).exclude(status=Export.EXPIRED):
        _delete_file(export, Export.EXPIRED)


CHUNK_BYTES = 256 * 1024
_TAG_BYTES = 16


def new_key() -> bytes:
    return AESGCM.generate_key(bit_length=256)


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


class SealedWriter:
    """Encrypts its input and writes it to a file. `close` writes the last chunk."""

    def __init__(self, file: Any, key: bytes) -> None:
        self._file, self._cipher, self._buffer, self._number = file, AESGCM(key), bytearray(), 0

    def write(self, content: Any) -> int:
        self._buffer += content
        while len(self._buffer) > CHUNK_BYTES:
            self._seal(is_last=False)
        return len(content)

    def flush(self) -> None:
        """Do nothing, because only full chunks are written."""

    def close(self) -> None:
        self._seal(is_last=True)

    def _seal(self, *, is_last: bool) -> None:
        chunk = bytes(self._buffer[:CHUNK_BYTES])
        self._file.write(self._cipher.encrypt(_nonce(self._number, is_last=is_last), chunk, None))
        del self._buffer[:CHUNK_BYTES]
        self._number += 1


def opened_chunks(file: Any, key: bytes) -> Iterator[bytes]:
    """Yield the content of an encrypted file. Raises InvalidTag if the file was changed or truncated."""
    cipher, number, size = AESGCM(key), 0, CHUNK_BYTES + _TAG_BYTES
    chunk = file.read(size)
    while True:
        following = file.read(size)
        yield cipher.decrypt(_nonce(number, is_last=not following), chunk, None)
        if not following:
            return
        chunk, number = following, number + 1
