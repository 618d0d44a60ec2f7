"""Create, rotate, revoke, and parse API keys.

A key has the form `ck_live_<12 id>_<32 random><6 checksum>`. In development, it begins with `ck_test_`. With the
checksum, scanners can recognize a key, and the API can reject typing errors without a query. Production rejects the
keys of development, and development rejects the keys of production, regardless of the database.
"""

import re
import secrets
import string
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils.crypto import get_random_string

from config.core.credentials import KEY_EXPIRY_NOTICE, InvalidToken
from config.core.digest import digest_of
from config.core.errors import NotFound, ValidationFailed
from config.core.ids import first_or, queryable
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.names import NameTaken, clean_name, name_key, unique_name
from config.ops.failed_items import FailedItems
from config.webhooks.events import record_event
from identity.access.models import AccountHistory, ApiKey, ApiKeyQuerySet, User
from identity.access.scopes import SCOPES
from identity.access.second_factor import require_second_factor
from identity.errors import NothingToCollect

DEFAULT_DAYS = 90  # the default validity of a key (specification section 5, item 7)
KEYS_MAX = 20  # the maximum number of an account's active and uncollected keys
GRACE_MAX_DAYS = 90
NAME_MAX_LENGTH = 255
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
KEY_START = "ck_"  # every API key begins with this text
_SHAPE = re.compile(r"ck_(?:live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]{38}", re.ASCII)
_CHECKSUM_LENGTH = 6


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """An API key with its plain text and secret, which are available only at the creation."""

    record: ApiKey
    key: str
    secret: str

    @property
    def old_expires_at(self) -> datetime | None:
        return self.record.replaces.expires_at if self.record.replaces else None

    def members(self) -> dict[str, Any]:
        """Return the fields of the only response that contains the plain text."""
        members = {"id": self.record.pk, "key": self.key, "secret": self.secret, "scopes": self.record.scopes}
        members["expires_at"] = self.record.expires_at
        if old := self.record.replaces:
            members |= {"replaces": old.pk, "old_expires_at": old.expires_at}
        return members


def _checksum(text: str) -> str:
    """Return the CRC-32 of `text` in base 62."""
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits


def check_profile(text: str) -> None:
    """Raise InvalidToken if a key has the prefix of development in production, or the reverse."""
    for prefix in set(settings.API_KEY_PREFIXES.values()) - {settings.API_KEY_PREFIX}:
        if text.startswith(prefix):
            kinds = " or ".join(kind for kind, theirs in settings.API_KEY_PREFIXES.items() if theirs == prefix)
            raise InvalidToken(
                f"This is a key for {kinds} ({prefix}…). Send a key that begins with {settings.API_KEY_PREFIX}."
            )


def key_id_of(text: str) -> str | None:
    """Return the public id in a key, or None if the format or the checksum is wrong."""
    match = _SHAPE.fullmatch(text)
    if match is None or _checksum(text[:-_CHECKSUM_LENGTH]) != text[-_CHECKSUM_LENGTH:]:
        return None
    return match[1]


def _texts(identifier: str) -> tuple[str, str]:
    body = f"{settings.API_KEY_PREFIX}{identifier}_{get_random_string(32)}"
    return body + _checksum(body), f"cs_{secrets.token_urlsafe(32)}"


def _issue(*, now: datetime, **columns: Any) -> IssuedKey:
    identifier = get_random_string(12)
    key, secret = _texts(identifier)
    record = ApiKey.objects.create(id=identifier, digest=digest_of(key), secret=secret, created_at=now, **columns)
    return IssuedKey(record, key, secret)


def create_api_key(
    *,
    owner: User,
    name: str,
    scopes: list[str] | None,
    now: datetime,
    expires_at: datetime | None = None,
    second_factor: bool = False,
) -> IssuedKey:
    """Create a key for `owner`. Without `scopes`, the key is unrestricted.

    `second_factor` is True if the log-in used a second factor. Raises Django's ValidationError. Raises NameTaken if the
    name resembles the name of another key that has not ended and was not rotated.
    """
    unknown = sorted(set(scopes or ()) - set(SCOPES))
    if unknown:
        raise ValidationError(f"Unknown scope: {', '.join(unknown)}. Known: {', '.join(SCOPES)}.")
    try:
        name = clean_name(name)
    except ValueError as error:
        raise ValidationError(f"A key's name: {error}") from error
    if len(name) > NAME_MAX_LENGTH:
        raise ValidationError(f"A key's name must have at most {NAME_MAX_LENGTH} characters.")
    expires_at = expires_at or now + timedelta(days=DEFAULT_DAYS)
    if expires_at <= now:
        raise ValidationError("The expiry of a key must be in the future.")
    with transaction.atomic():
        key = name_key(name, owner.pk)
        ApiKey.objects.filter(name_key=key, expires_at__lte=now).update(name_key=None)
        columns = {"owner": owner, "name": name, "scopes": scopes, "second_factor": second_factor}
        with unique_name(ApiKey.objects, key):
            issued = _issue(**columns, name_key=key, expires_at=expires_at, now=now)
        _record_event("api_key.created", issued.record, now)
    return issued


def rotate_api_key(record: ApiKey, *, now: datetime, grace: timedelta, second_factor: bool = False) -> IssuedKey:
    """Create a successor. The old key is valid for `grace`. Raises ValidationError for a revoked or uncollected key."""
    with transaction.atomic():
        issued = _succeed(record, now=now, second_factor=second_factor)
        _end_after(issued.record.replaces, now=now, grace=grace)
    return issued


def offer_successor(record: ApiKey, *, now: datetime, grace_days: int) -> ApiKey:
    """Create a successor for collection by the owner. After the collection, the old key is valid for `grace_days`.

    Raises ValidationError if the key is revoked, was not collected, or already has a successor to collect.
    """
    with transaction.atomic():
        return _succeed(record, now=now, collect_grace_days=grace_days).record


def collect_api_key(actor: Actor, *, identifier: str, now: datetime) -> IssuedKey:
    """Issue a key that waits for collection by the actor. Raises NothingToCollect if no key waits."""
    with transaction.atomic():
        waiting = ApiKey.objects.select_for_update(of=("self",)).select_related("replaces")
        record = waiting.filter(pk=queryable(identifier), owner=actor.user, collect_grace_days__isnull=False).first()
        if record is None or record.state_at(now) != "to_collect":
            raise NothingToCollect
        key, secret = _texts(record.pk)
        grace = timedelta(days=record.collect_grace_days or 0)
        record.digest, record.secret, record.collect_grace_days = digest_of(key), secret, None
        record.expires_at = now + timedelta(days=DEFAULT_DAYS)
        record.second_factor = actor.second_factor
        record.save(update_fields=["digest", "secret", "collect_grace_days", "expires_at", "second_factor"])
        _end_after(record.replaces, now=now, grace=grace)
        AccountHistory.note("api_key.collected", actor, now=now, object_id=record.pk)
    return IssuedKey(record, key, secret)


def _succeed(record: ApiKey, *, now: datetime, **columns: Any) -> IssuedKey:
    """Lock a key, create its successor, and record the event."""
    old = ApiKey.objects.select_for_update().get(pk=record.pk)
    if old.revoked_at is not None:
        raise ValidationError("A revoked key can't be rotated. Create a new key.")
    if old.collect_grace_days is not None:
        raise ValidationError("The key was not collected yet. Revoke it before you rotate again.")
    if "collect_grace_days" in columns and old.replaced_by.filter(collect_grace_days__isnull=False, revoked_at=None):
        raise ValidationError("A successor of this key was not collected yet. Collect it, or revoke it first.")
    ApiKey.objects.filter(pk=old.pk).update(name_key=None)
    issued = _issue(
        owner=old.owner,
        name=old.name,
        name_key=old.name_key,
        scopes=old.scopes,
        expires_at=now + timedelta(days=DEFAULT_DAYS),
        now=now,
        replaces=old,
        **columns,
    )
    _record_event("api_key.rotated", issued.record, now, replaces=old.pk)
    return issued


def _end_after(old: ApiKey | None, *, now: datetime, grace: timedelta) -> None:
    if old is not None:
        old.expires_at = max(min(old.expires_at, now + grace), old.created_at + timedelta(microseconds=1))
        old.save(update_fields=["expires_at"])


def revoke_api_key(record: ApiKey, *, now: datetime) -> datetime:
    """Revoke a key; return the time of the first revocation. Idempotent."""
    with transaction.atomic():
        key = ApiKey.objects.select_for_update().get(pk=record.pk)
        if key.revoked_at is None:
            key.revoked_at, key.name_key = now, None
            key.save(update_fields=["revoked_at", "name_key"])
            _record_event("api_key.revoked", key, now)
        return key.revoked_at


def announce_expiring(*, now: datetime) -> dict[str, int]:
    """Record an event for each key that expires within KEY_EXPIRY_NOTICE, once per key. Return the number of keys."""
    soon = ApiKey.objects.usable_at(now).filter(expires_at__lte=now + KEY_EXPIRY_NOTICE, expiry_announced_at=None)
    items = FailedItems("api_key", soon, lease=timedelta(minutes=1))
    announced = 0

    def announce(key: ApiKey) -> None:
        nonlocal announced
        with transaction.atomic():
            # A concurrent run may process the same key. Only the run whose update succeeds records the event.
            is_first = ApiKey.objects.filter(pk=key.pk, expiry_announced_at=None).update(expiry_announced_at=now)
            if is_first:
                _record_event("api_key.expiring", key, now, expires_at=rfc3339(key.expires_at))
        announced += is_first

    items.process(announce, now=now)
    return {"api_keys_announced": announced}


def _record_event(event_type: str, key: ApiKey, now: datetime, **members: str) -> None:
    record_event(event_type, account_id=key.owner_id, now=now, api_key_id=key.pk, **members)


def keys_of(owner: Any) -> ApiKeyQuerySet:
    own: ApiKeyQuerySet = ApiKey.objects.filter(owner=owner).defer("secret").order_by("-created_at", "-id")
    return own


def with_successors(keys: ApiKeyQuerySet) -> ApiKeyQuerySet:
    """Annotate keys with `successor`, the id of the newest key that replaces the key, or None."""
    newest = ApiKey.objects.filter(replaces=OuterRef("pk")).order_by("-created_at", "-id").values("pk")
    annotated: ApiKeyQuerySet = keys.annotate(successor=Subquery(newest[:1]))
    return annotated


def create_own_key(actor: Actor, *, name: str, scopes: list[str] | None, expires_days: int, now: datetime) -> IssuedKey:
    """Create a key. Raises SecondFactorRequired, and ValidationFailed if the name is in use or KEYS_MAX is reached."""
    require_second_factor(actor)
    with transaction.atomic():
        _lock(actor.user)
        expires_at = now + timedelta(days=expires_days)
        made_as = {"owner": actor.user, "second_factor": actor.second_factor}
        try:
            issued = create_api_key(name=name, scopes=scopes, now=now, expires_at=expires_at, **made_as)
        except NameTaken as error:
            message = "Must not look like the name of another API key of the account. Choose another name."
            raise ValidationFailed.of_member("name", message) from error
        _check_number(actor.user, now=now)
        details = {"scopes": scopes}
        AccountHistory.note("api_key.created", actor, now=now, object_id=issued.record.pk, details=details)
    return issued


def rotate_own_key(actor: Actor, key_id: str, *, grace_days: int, now: datetime) -> IssuedKey:
    """Create a successor. The old key is valid for the grace period.

    Raises SecondFactorRequired and NotFound. Raises RecordNotEditable for a key that has ended or waits for collection.
    Raises ValidationFailed if KEYS_MAX is reached.
    """
    require_second_factor(actor)
    with transaction.atomic():
        _lock(actor.user)
        old = find_own_key(actor.user, key_id)
        if old.state_at(now) != "active":
            raise RecordNotEditable(
                f"Only keys in the state `active` can be rotated. This key is `{old.state_at(now)}`: create a new key."
            )
        try:
            issued = rotate_api_key(old, now=now, grace=timedelta(days=grace_days), second_factor=actor.second_factor)
        except ValidationError as refusal:  # staff changed the key concurrently
            raise RecordNotEditable("; ".join(refusal.messages)) from refusal
        _check_number(actor.user, now=now)
        details = {"replaces": old.pk}
        AccountHistory.note("api_key.rotated", actor, now=now, object_id=issued.record.pk, details=details)
    return issued


def revoke_own_key(actor: Actor, key_id: str, *, now: datetime) -> None:
    """Revoke a key. Idempotent. Raises SecondFactorRequired and NotFound."""
    require_second_factor(actor)
    with transaction.atomic():
        key = find_own_key(actor.user, key_id)
        if key.revoked_at is None:
            AccountHistory.note("api_key.revoked", actor, now=now, object_id=key.pk)
        revoke_api_key(key, now=now)


def confirm_own_key(actor: Actor, key_id: str, *, now: datetime) -> None:
    """Confirm a key that a password reset suspended. Idempotent. Raises SecondFactorRequired and NotFound."""
    require_second_factor(actor)
    with transaction.atomic():
        key = find_own_key(actor.user, key_id)
        if key.suspended_at is not None:
            key.suspended_at = None
            key.save(update_fields=["suspended_at"])
            AccountHistory.note("api_key.confirmed", actor, now=now, object_id=key.pk)


def _lock(owner: User) -> None:
    """Lock the account, so that concurrent requests can't exceed the limit of keys."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=owner.pk)


def _check_number(owner: User, *, now: datetime) -> None:
    if ApiKey.objects.filter(owner=owner, revoked_at__isnull=True, expires_at__gt=now).count() > KEYS_MAX:
        raise ValidationFailed(
            f"An account can have at most {KEYS_MAX} API keys, including keys in their grace period. Revoke one first."
        )


def find_own_key(owner: User, key_id: str) -> ApiKey:
    return first_or(ApiKey.objects.filter(pk=queryable(key_id), owner=owner), NotFound("API key not found."))
