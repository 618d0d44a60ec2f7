"""API keys that a logged-in account makes for itself over the API (`access/keys.py` does the work)."""

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from config.core.errors import NotFound, ValidationFailed
from config.core.ids import askable, first_or
from config.core.lifecycle import Actor, RecordNotEditable
from identity.access.keys import IssuedKey, create_api_key, revoke_api_key, rotate_api_key
from identity.access.models import AccountHistory, ApiKey, ApiKeyQuerySet, User
from identity.access.second_factor import require_second_factor

KEYS_MAX = 20  # per account: active keys, and those that wait for collection
GRACE_MAX_DAYS = 90


def keys_of(owner: Any) -> ApiKeyQuerySet:
    own: ApiKeyQuerySet = ApiKey.objects.filter(owner=owner).defer("secret").order_by("-created_at", "-id")
    return own


def create_own_key(actor: Actor, *, name: str, scopes: list[str] | None, expires_days: int, now: datetime) -> IssuedKey:
    """Raises SecondFactorRequired, ValidationFailed when the account has KEYS_MAX."""
    require_second_factor(actor)
    with transaction.atomic():
        _lock(actor.user)
        expires_at = now + timedelta(days=expires_days)
        made_as = {"owner": actor.user, "second_factor": actor.second_factor}
        issued = create_api_key(name=name, scopes=scopes, now=now, expires_at=expires_at, **made_as)
        _check_number(actor.user, now=now)
        details = {"scopes": scopes}
        AccountHistory.note("api_key.created", actor, now=now, object_id=issued.record.pk, details=details)
    return issued


def rotate_own_key(actor: Actor, key_id: str, *, grace_days: int, now: datetime) -> IssuedKey:
    """Make a successor; the old key works on for its grace.

    Raises SecondFactorRequired, NotFound, RecordNotEditable for a key that ended or waits to be collected,
    ValidationFailed when the account has KEYS_MAX.
    """
    require_second_factor(actor)
    with transaction.atomic():
        _lock(actor.user)
        old = _find(actor.user, key_id)
        if old.state_at(now) != "active":
            raise RecordNotEditable(f"The key is {old.state_at(now)}: make a new one.")
        try:
            issued = rotate_api_key(old, now=now, grace=timedelta(days=grace_days), second_factor=actor.second_factor)
        except ValidationError as refusal:  # a member of staff at the back office was quicker
            raise RecordNotEditable("; ".join(refusal.messages)) from refusal
        _check_number(actor.user, now=now)
        details = {"replaces": old.pk}
        AccountHistory.note("api_key.rotated", actor, now=now, object_id=issued.record.pk, details=details)
    return issued


def revoke_own_key(actor: Actor, key_id: str, *, now: datetime) -> None:
    """Revoke a key, idempotent; raises SecondFactorRequired, NotFound."""
    require_second_factor(actor)
    with transaction.atomic():
        key = _find(actor.user, key_id)
        if key.revoked_at is None:
            AccountHistory.note("api_key.revoked", actor, now=now, object_id=key.pk)
        revoke_api_key(key, now=now)


def confirm_own_key(actor: Actor, key_id: str, *, now: datetime) -> None:
    """Confirm a key that a password reset suspended. Idempotent. Raises SecondFactorRequired, NotFound."""
    require_second_factor(actor)
    with transaction.atomic():
        key = _find(actor.user, key_id)
        if key.suspended_at is not None:
            key.suspended_at = None
            key.save(update_fields=["suspended_at"])
            AccountHistory.note("api_key.confirmed", actor, now=now, object_id=key.pk)


def _lock(owner: User) -> None:
    """Hold the account, which makes the number of its keys exact."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=owner.pk)


def _check_number(owner: User, *, now: datetime) -> None:
    if ApiKey.objects.filter(owner=owner, revoked_at__isnull=True, expires_at__gt=now).count() > KEYS_MAX:
        raise ValidationFailed(
            f"An account has at most {KEYS_MAX} API keys, those in their grace included: revoke one first."
        )


def _find(owner: User, key_id: str) -> ApiKey:
    return first_or(ApiKey.objects.filter(pk=askable(key_id), owner=owner), NotFound("API key not found."))
