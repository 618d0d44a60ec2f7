from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from claims.doi import publication_key
from claims.errors import ClaimNotFound
from claims.machine import CONDITIONAL, OWN_LEVELS, REVIEW_PERMISSION, SHARED
from claims.models import Claim, record_claim_event
from config.core.errors import UserMismatch, ValidationFailed
from config.core.ids import get_by_uuid, parse_positive_int64
from config.core.lifecycle import Actor
from config.core.permissions import holds
from config.webhooks.events import record_events


def show_claim(claim_id: str, user: Any) -> Claim:
    """Load a claim with a single SQL statement. Raises ClaimNotFound if `user` can't read the claim."""
    conditional = Q(visibility=CONDITIONAL) & holds(user.pk, REVIEW_PERMISSION)
    visible = Claim.objects.filter(Q(user=user) | Q(visibility=SHARED) | conditional)
    return get_by_uuid(visible, claim_id, ClaimNotFound)


def load_movable(claim_id: str, user: Any) -> Claim:
    """Return a claim if `user` is the owner, or a reviewer who can read the claim. Otherwise, raise ClaimNotFound."""
    reviewed = Q(visibility__in=(SHARED, CONDITIONAL)) & holds(user.pk, REVIEW_PERMISSION)
    return get_by_uuid(Claim.objects.filter(Q(user=user) | reviewed), claim_id, ClaimNotFound)


def list_claims(*, viewer: Any, user_id: str, publication_id: str) -> QuerySet[Claim]:
    """Return the viewer's own claims, or the readable claims to a publication, newest first.

    Raises UserMismatch if the viewer requests all claims of another user.
    """
    claims = Claim.objects.order_by("-id")
    if publication_id:
        claims = claims.filter(publication_key=publication_key(publication_id))
    if user_id == str(viewer.pk) or not (user_id or publication_id):
        claims = claims.filter(user=viewer)
    elif not publication_id:
        raise UserMismatch
    else:
        visibilities = (SHARED, CONDITIONAL) if viewer.has_perm(REVIEW_PERMISSION) else (SHARED,)
        claims = claims.filter(Q(visibility__in=visibilities) | Q(user=viewer))
        if user_id:
            claims = claims.filter(user_id=parse_positive_int64(user_id) or 0)
    return claims


def create_claim(*, actor: Actor, members: dict[str, Any], now: datetime) -> Claim:
    """Create a claim in `draft`. Raises ValidationFailed if the actor can't set the verification level."""
    claim = Claim.draft(user_id=actor.user.pk, members=members, now=now)
    _check_level(claim.verification_level, actor.user)
    with transaction.atomic(savepoint=False):
        claim.save(force_insert=True)
        record_claim_event("created", claim, now=now)
    return claim


def store_claims(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[UUID]:
    claims = [Claim.draft(user_id=actor.user.pk, members=payload, now=now) for payload in payloads]
    Claim.objects.bulk_create(claims)
    record_events("claim.created", events=[(claim.user_id, claim.event_members()) for claim in claims], now=now)
    return [claim.pk for claim in claims]


def change_claim(claim_id: str, *, actor: Actor, changes: dict[str, Any], now: datetime) -> Claim:
    """Change the evidence, notes, verification level, or visibility of the actor's own claim.

    Null values change nothing. If all values are equal to the current values, the function emits no event. Raises
    ClaimNotFound, and ValidationFailed if the actor can't set the verification level.
    """
    with transaction.atomic(savepoint=False):
        claim = get_by_uuid(Claim.objects.filter(user=actor.user), claim_id, ClaimNotFound)
        columns = {name: value for name, value in changes.items() if value not in (None, getattr(claim, name))}
        if columns:
            if "verification_level" in columns:
                _check_level(columns["verification_level"], actor.user)
            _update(claim, now=now, content_changed_at=max(now, claim.updated_at), **columns)
    return claim


def set_verification_level(claim: Claim, level: str, *, now: datetime) -> None:
    """Set the verification level that a reviewer confirmed. Raises ClaimNotFound for a deleted claim."""
    with transaction.atomic():
        _update(claim, now=now, verification_level=level)


def _update(claim: Claim, *, now: datetime, **columns: Any) -> None:
    # The time must not be earlier than the last transition, even if the clock was set back.
    updated_at = max(now, claim.updated_at)
    if not Claim.objects.filter(pk=claim.pk).update(updated_at=updated_at, **columns):
        raise ClaimNotFound
    claim.refresh_from_db()
    record_claim_event("updated", claim, now=now)


def delete_claim(claim_id: str, *, actor: Actor, now: datetime) -> None:
    """Replace the actor's own claim with a tombstone. Raises ClaimNotFound if the claim is already deleted."""
    with transaction.atomic(savepoint=False):
        claim = get_by_uuid(Claim.objects.filter(user=actor.user), claim_id, ClaimNotFound)
        gone = {"deleted_at": now, "deleted_by": actor.user, "deleted_with": actor.credential}
        if not Claim.objects.filter(pk=claim.pk).update(**gone):
            raise ClaimNotFound
        record_claim_event("deleted", claim, now=now)


def _check_level(level: str, user: Any) -> None:
    if level not in OWN_LEVELS and not user.has_perm(REVIEW_PERMISSION):
        message = f"Only a reviewer can set '{level}'. Send {' or '.join(sorted(OWN_LEVELS))}."
        raise ValidationFailed.of_member("verification_level", message)
