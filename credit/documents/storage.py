"""Store the content of documents in Django's storage `documents`. Each file is encrypted with a separate key.

# Note [A key for each file]

The file's row contains the key (`StoredFile.key`), encrypted with FIELD_ENCRYPTION_KEYS like all secrets. So
`rotate_encryption_key` re-encrypts only a few bytes per file. Files are never rewritten, so a crash can't leave a
partly re-encrypted file. A removed field key can no longer decrypt any file.

# Note [What a crash leaves]

1. The row is committed.
2. The file is written and flushed.
3. The DocumentFile is committed together with `is_kept`.

If a process dies before step 3, `is_kept` is false, and `prune` deletes the file. If a paused process resumes after the
deletion, it finds no row, and fails.

A DocumentFile is append-only. If a draft is closed without a submission, its files are deleted with their keys. The
rows remain, with `deleted_at`.
"""

import logging
import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.checks import CheckMessage, Error, Info
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce

from config.core.errors import NotFound, Unavailable
from config.ops.failed_items import FailedItems
from credit.core.machine import DRAFT, EXPIRED, WITHDRAWN
from credit.models.documents import DocumentFile, StoredFile
from credit.models.notices import RetentionHold

logger = logging.getLogger("platform.documents")

# Requests take at most 1 minute, so a file without `is_kept` is abandoned after this time.
ABANDONED_AFTER = timedelta(hours=1)
_BATCH_ROWS = 500
_LEASE = timedelta(minutes=1)
# Each key encrypts a single file, so the nonce can be constant.
_NONCE = bytes(12)


def storage() -> Storage:
    return storages["documents"]


def store_file(content: bytes, *, now: datetime) -> StoredFile:
    """Write a file, and return its row, whose `is_kept` is still false. Call this function outside of transactions.

    Raises Unavailable if the storage fails.
    """
    key = AESGCM.generate_key(bit_length=256)
    stored = StoredFile.objects.create(key=b64encode(key).decode(), begun_at=now)
    try:
        name = storage().save(stored.name, ContentFile(AESGCM(key).encrypt(_NONCE, content, stored.id.bytes)))
        _flush(name)
    except Exception as error:
        # Each storage raises its own errors.
        logger.exception("a document could not be stored")
        raise Unavailable("The server can't store the file now. Send it again later.") from error
    return stored


def _flush(name: str) -> None:
    """Wait until the file and its directory entry are on the disk. Does nothing for storages on other machines."""
    written_to = storage()
    if not isinstance(written_to, FileSystemStorage):
        # Remote storages respond only after they have stored the file.
        return
    file = Path(written_to.path(name))
    for path in (file, file.parent):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read(file: DocumentFile) -> bytes:
    """Return the content of a file.

    Raises NotFound if the file was not stored or was deleted. Raises Unavailable if the storage lacks the file, or if
    the content was changed. Raises UnreadableSecret if the file's key can't be decrypted.
    """
    stored = file.stored
    if stored is None:
        raise NotFound
    if stored.deleted_at is not None:
        raise NotFound("The file was deleted with its draft, or with its account.")
    key = b64decode(stored.key)
    try:
        with storage().open(stored.name) as written:
            content = AESGCM(key).decrypt(_NONCE, written.read(), stored.id.bytes)
    except Exception as error:
        # Each storage raises its own errors.
        logger.exception("document file %s cannot be read", file.pk)
        raise Unavailable("The server can't read the file. Contact the operator.") from error
    if sha256(content).hexdigest() != file.sha256:
        logger.error("document file %s differs from the uploaded file", file.pk)
        raise Unavailable("The server can't read the file. Contact the operator.")
    return content


def delete_abandoned(*, now: datetime) -> dict[str, int]:
    """Delete files whose upload was never completed, and return their number.

    The next run retries files whose deletion failed.
    """
    abandoned = StoredFile.objects.filter(is_kept=False, begun_at__lt=now - ABANDONED_AFTER)
    return {"abandoned_document_files": _each("abandoned_file", abandoned, _delete_abandoned_file, now)}


def _each(kind: str, files: "QuerySet[StoredFile]", do: Callable[[StoredFile], int], now: datetime) -> int:
    """Call `do` for each file, and return the sum of the results. A later run retries files with storage errors."""
    items, results = FailedItems(kind, files.order_by("pk"), lease=_LEASE), list[int]()
    items.process(lambda stored: results.append(do(stored)), now=now)
    return sum(results)


def _delete_abandoned_file(file: StoredFile) -> int:
    with transaction.atomic():
        # The lock makes a concurrent `add_file` wait, which then finds no row.
        stored = StoredFile.objects.select_for_update().filter(pk=file.pk, is_kept=False).first()
        if stored is None:
            return 0
        storage().delete(stored.name)
        stored.delete()
        return 1


def delete_files_of_ended_drafts(*, now: datetime) -> dict[str, int]:
    """Delete the files of drafts that were closed without a submission, and return their number.

    The files of applications with a litigation hold remain.
    """
    ended = StoredFile.objects.filter(
        deleted_at=None,
        file__document__application__status__in=(WITHDRAWN, EXPIRED),
        file__document__application__submitted_at=None,
        file__document__application__initial_status=DRAFT,
    ).exclude(file__document__application__in=RetentionHold.held())
    return {"draft_document_files": _each("draft_file", ended, partial(delete_file, now=now), now)}


def delete_file(stored: StoredFile, *, now: datetime) -> int:
    """Delete a file and its key. The row remains. Raises the storage's errors."""
    storage().delete(stored.name)
    stored.key, stored.deleted_at = "", now
    stored.save(update_fields=["key", "deleted_at"])
    return 1


def check_document_storage(**_options: Any) -> list[CheckMessage]:
    """Check that the storage accepts files and contains the oldest stored files. The check writes nothing."""
    names = [row.name for row in StoredFile.objects.filter(is_kept=True, deleted_at=None)[:3]]
    try:
        storage().exists("doctor")  # this checks the connection even if no file is stored
        missing = [name for name in names if not storage().exists(name)]
        is_writable = _is_writable()
    except Exception as error:  # noqa: BLE001  each storage raises its own errors
        return [Error(f"DOCUMENT_STORAGE does not respond: {type(error).__name__}: {error}")]
    if not is_writable:
        return [Error("DOCUMENT_STORAGE must be a folder that this user account can write to.")]
    if missing:
        return [Error(f"DOCUMENT_STORAGE lacks uploaded files ({missing[0]}): restore it from the backup.")]
    return [Info("responds")]


def _is_writable() -> bool:
    kept_in = storage()
    if not isinstance(kept_in, FileSystemStorage):
        # Remote storages can only be checked with a write.
        return True
    folder = Path(kept_in.location)
    while not folder.exists():
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def describe_storage() -> dict[str, Any]:
    totals = DocumentFile.objects.filter(infection="", stored__deleted_at=None).aggregate(
        files=Count("id"), bytes=Coalesce(Sum("size_bytes"), 0)
    )
    return {"storage": settings.DOCUMENT_STORAGE, **totals}


def missing_files() -> list[str]:
    """Check every stored file. Return an error message if the storage lacks files."""
    kept = StoredFile.objects.filter(is_kept=True, deleted_at=None).order_by("pk").iterator(chunk_size=_BATCH_ROWS)
    missing = sum(not storage().exists(stored.name) for stored in kept)
    fault = f"{missing} documents are not in {settings.DOCUMENT_STORAGE}: restore them from the newest backup."
    return [fault] if missing else []


BACKUP_PARTS = {"documents": (describe_storage, missing_files)}
