"""Sign the records of the platform (service A). Create, publish, and rotate the signing keys.

A record is signed in the transaction that creates it, with the key that is valid at that time. DECISION_SIGNING_KEY is
the first key, and `rotate` creates each further key. Every key remains published. Each key is anchored as a record that
the previous key signs.

The times of a record and of its key can come from two machines with different clocks. So the first key is valid from 1
minute before its first use, and each later key is published 1 minute before it signs.
"""

import base64
import os
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core import checks
from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Window
from django.db.models.functions import Lead

from config.core.encryption import readable
from config.core.json_text import canonical_json, rfc3339
from config.core.leases import contain
from config.core.seeds import SEED_BYTES, read_seed
from credit.models.anchoring import DecisionAnchor, RecordKey

DOMAIN = "credit-platform/record/v1"
PUBLISHED_AHEAD = timedelta(minutes=1)
PUBLISHED_MAX_AGE_SECONDS = 30


def message_of(report_type: str, record: str) -> bytes:
    """Return the bytes to sign. A signature of these bytes is valid only for this record and this report type."""
    return f"{DOMAIN}\n{report_type}\n{record}".encode()


def queue(
    record: str, *, now: datetime, openings: str | None = None, key: RecordKey | None = None, **about: Any
) -> None:
    """Sign a record with `key`, by default the currently valid key, and queue it for the ledger.

    `openings` open the record's hashes. `about` are the columns that identify the record's subject.
    """
    key = key or key_at(now)
    anchor = DecisionAnchor(record=record, openings=openings, due_at=now, signed_by=key, **about)
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key.private_key))
    anchor.signature = base64.b64encode(private.sign(message_of(anchor.report_type, record))).decode()
    anchor.save(force_insert=True)


def key_at(moment: datetime) -> RecordKey:
    """Return the key that is valid at a time. If the time is before all keys, return the first key.

    If no key exists, the first key is created.
    """
    valid_key = RecordKey.objects.filter(valid_from__lte=moment).last()
    if key := valid_key or RecordKey.objects.first():
        return key
    columns = _columns(_first_seed(), valid_from=moment - PUBLISHED_AHEAD)
    return RecordKey.objects.get_or_create(number=1, defaults=columns)[0]


def published(*, now: datetime) -> list[RecordKey]:
    """Return all announced keys, oldest first, each with `valid_until` and `anchor`.

    If the installation anchors records and has no key, this creates the first key. A key that can't be announced is
    logged and omitted.
    """
    if settings.ANCHOR_DECISIONS:
        key_at(now)
    for key in unannounced():
        try:
            announce_key(key, now=now)
        except Exception as error:  # noqa: BLE001  because an error of a key must not hide other keys
            contain(error, "record_key", key.pk)
    ends = Window(Lead("valid_from"), order_by="number")
    keys = RecordKey.objects.select_related("anchor").annotate(valid_until=ends)
    return [key for key in keys if hasattr(key, "anchor")]


def announce(*, now: datetime) -> None:
    for key in unannounced():
        announce_key(key, now=now)


def unannounced() -> QuerySet[RecordKey]:
    return RecordKey.objects.filter(anchor__isnull=True).order_by("number")


def announce_key(key: RecordKey, *, now: datetime) -> None:
    """Queue the record of a key, signed with the previous key.

    If the previous key is lost, the latest readable key signs. If all earlier keys are lost, the key signs its own
    announcement, as the first key does. A lost key without an earlier key can't be announced.
    """
    earlier = RecordKey.objects.filter(number__lt=key.number).order_by("-number")
    before = next(filter(_can_sign, earlier), None) if key.number > 1 else None
    if before is None and not _can_sign(key):
        return  # the error is already logged
    record = {
        "record_version": 1,
        "key": key.key_id,
        "public_key": key.public_key,
        "valid_from": rfc3339(key.valid_from),
        "replaces": None if before is None else before.key_id,
    }
    with suppress(IntegrityError), transaction.atomic():
        # If another process announced the key first, the insert fails.
        queue(canonical_json(record).decode(), now=now, key=before or key, record_key=key)


def rotate(*, now: datetime) -> RecordKey:
    """Create the next key. The previous key announces the new key, which signs after PUBLISHED_AHEAD (1 minute)."""
    with transaction.atomic():
        key_at(now)  # creates the first key if it is missing
        # The lock serializes concurrent rotations.
        _restore(RecordKey.objects.select_for_update().get(number=1))
        before = RecordKey.objects.latest("number")
        valid_from = max(now, before.valid_from) + PUBLISHED_AHEAD
        fresh = RecordKey.objects.create(
            number=before.number + 1, **_columns(os.urandom(SEED_BYTES), valid_from=valid_from)
        )
        announce(now=now)
    return fresh


def _can_sign(key: RecordKey) -> bool:
    return readable(lambda: key.private_key) is not None


def _restore(first: RecordKey) -> None:
    """Encrypt the first key again from DECISION_SIGNING_KEY if no encryption key decrypts the stored copy."""
    seed = _first_seed()
    if not _can_sign(first) and _public_key(seed) == first.public_key:
        first.private_key = base64.b64encode(seed).decode()
        first.save(update_fields=["private_key"])


def check_record_key(**_options: Any) -> list[checks.CheckMessage]:
    """Check that DECISION_SIGNING_KEY is a published key. Raises ImproperlyConfigured if the setting is missing."""
    if not settings.PRODUCTION and not settings.DECISION_SIGNING_KEY:
        return [checks.Info("made here")]
    public_key = _public_key(_first_seed())
    known = set(RecordKey.objects.values_list("public_key", flat=True))
    if known and public_key not in known:
        why = "DECISION_SIGNING_KEY is not the key that signed the first records: restore that key. "
        return [checks.Error(f"{why}`manage.py rotate_record_key` creates a new key.")]
    return [checks.Info(f"{len(known)} keys have signed")]


def _first_seed() -> bytes:
    return read_seed(
        "DECISION_SIGNING_KEY",
        settings.DECISION_SIGNING_KEY,
        without="it signs the records that are anchored.",
        file_name="decision-signing-key",
        damaged="restore it from the backup, or remove it: the database still has all keys that have signed",
    )


def _columns(seed: bytes, *, valid_from: datetime) -> dict[str, Any]:
    public_key = _public_key(seed)
    return {
        "key_id": sha256(base64.b64decode(public_key)).hexdigest()[:16],
        "public_key": public_key,
        "private_key": base64.b64encode(seed).decode(),
        "valid_from": valid_from,
    }


def _public_key(seed: bytes) -> str:
    return base64.b64encode(Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()).decode()


def check_ledger_access(**_options: Any) -> list[checks.CheckMessage]:
    """Check that the ledger accepts the key of service A, according to the settings of this machine."""
    if not (settings.PRODUCTION and settings.ANCHOR_DECISIONS):
        return [checks.Info("not needed")]
    if sha256(settings.LEDGER_CLIENT_KEY.encode()).hexdigest() in settings.LEDGER_API_KEYS:
        return [checks.Info("service A's key is the ledger's")]
    text = "LEDGER_API_KEYS lacks the SHA-256 of LEDGER_CLIENT_KEY: a ledger with these settings rejects anchors."
    return [checks.Warning(text)]
