"""Making, changing, finding and deleting claims."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from claims.doi import publication_key
from claims.errors import ClaimNotFound
from claims.machine import CONDITIONAL, OWN_LEVELS, REVIEW_PERMISSION, SHARED
from claims.models import Claim, record_claim_event
from claims.serializers import ClaimAnswer
from config.api.prepared import PreparedGet, PreparedSelect, insert
from config.core.errors import UserMismatch, ValidationFailed
from config.core.ids import parse_positive_int64, parse_uuid
from config.core.lifecycle import Actor
from config.core.permissions import holds
from config.webhooks.events import record_events


def _visible(claim_id: Any, user_id: Any) -> Any:
    conditional = Q(visibility=CONDITIONAL) & holds(user_id, REVIEW_PERMISSION)
    return Claim.objects.filter(Q(user_id=user_id) | Q(visibility=SHARED) | conditional, pk=claim_id)


def _movable(claim_id: Any, user_id: Any) -> Any:
    reviewed = Q(visibility__in=(SHARED, CONDITIONAL)) & holds(user_id, REVIEW_PERMISSION)
    return Claim.objects.filter(Q(user_id=user_id) | reviewed, pk=claim_id)


_read_visible = PreparedSelect(_visible, ClaimAnswer.sources()).first
_load_movable = PreparedGet(Claim, _movable)
_load_own = PreparedGet(Claim, lambda claim_id, user_id: Claim.objects.filter(pk=claim_id, user_id=user_id))


def _find(statement: Callable[..., Any], claim_id: str, user: Any) -> Any:
    """Return what the statement finds; raises ClaimNotFound for nothing."""
    identifier = parse_uuid(claim_id)
    found = statement(claim_id=identifier, user_id=user.pk) if identifier else None
    if found is None:
        raise ClaimNotFound
    return found


def show_claim(claim_id: str, user: Any) -> dict[str, Any]:
    """Return the answer for one claim, in one query; raises ClaimNotFound unless `user` may see it."""
    return ClaimAnswer.represent_values(_find(_read_visible, claim_id, user))


def load_movable(claim_id: str, user: Any) -> Claim:
    """Return the claim if `user` is its owner, or a reviewer who may see it; raises ClaimNotFound otherwise."""
    claim: Claim = _find(_load_movable, claim_id, user)
    return claim


@cache
def _listing(filters: tuple[str, ...], shown: tuple[str, ...]) -> PreparedSelect:
    """Return the statement for a page with these filters; `shown` are the visibilities in which others' are seen.

    The page's ids come from an index alone, so that an offset costs index entries and not rows.
    """

    def build(*, viewer_id: Any, limit: int, offset: int, **given: Any) -> Any:
        found = Claim.objects.filter(**given)
        if shown:
            found = found.filter(Q(visibility__in=shown) | Q(user_id=viewer_id))
        page = found.order_by("-id").values("id")[offset : offset + limit]
        return Claim.objects.filter(id__in=page).order_by("-id")

    return PreparedSelect(build, ClaimAnswer.sources(), arguments=(*filters, "viewer_id", "limit", "offset"))


def list_claims(
    *, viewer: Any, user_id: str = "", publication_id: str = "", limit: int, offset: int, **filters: Any
) -> list[dict[str, Any]]:
    """Return a page of answers, newest first: the viewer's own claims, or those to a publication that they may see.

    Raises UserMismatch when somebody else's claims are asked for without naming a publication.
    """
    shown: tuple[str, ...] = ()
    if publication_id:
        filters["publication_key"] = publication_key(publication_id)
    if user_id == str(viewer.pk) or not (user_id or publication_id):
        filters["user_id"] = viewer.pk
    elif not publication_id:
        raise UserMismatch
    else:
        shown = (SHARED, CONDITIONAL) if viewer.has_perm(REVIEW_PERMISSION) else (SHARED,)
        if user_id:
            filters["user_id"] = parse_positive_int64(user_id)
            if filters["user_id"] is None:
                return []
    statement = _listing(tuple(sorted(filters)), shown)
    rows = statement.rows(**filters, viewer_id=viewer.pk, limit=limit, offset=offset)
    return [ClaimAnswer.represent_values(row) for row in rows]


def create_claim(*, actor: Actor, members: dict[str, Any], now: datetime) -> Claim:
    """Make a claim in `draft`; raises ValidationFailed for a verification level that is not the actor's to set."""
    claim = Claim.draft(user_id=actor.user.pk, members=members, now=now)
    _check_level(claim.verification_level, actor.user)
    with transaction.atomic(savepoint=False):
        insert(claim)
        record_claim_event("created", claim, now=now)
    return claim


def store_claims(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[UUID]:
    """Make claims of the actor's own from approved staging payloads; return their ids."""
    claims = [Claim.draft(user_id=actor.user.pk, members=payload, now=now) for payload in payloads]
    Claim.objects.bulk_create(claims)
    record_events("claim.created", events=[(claim.user_id, claim.event_members()) for claim in claims], now=now)
    return [claim.pk for claim in claims]


def change_claim(claim_id: str, *, actor: Actor, changes: dict[str, Any], now: datetime) -> Claim:
    """Replace evidence, notes, verification level or visibility of the actor's own claim; null changes nothing.

    Raises ClaimNotFound, or ValidationFailed as `create_claim`. What is as it was is no change, and tells nobody.
    """
    with transaction.atomic(savepoint=False):
        claim: Claim = _find(_load_own, claim_id, actor.user)
        columns = {name: value for name, value in changes.items() if value not in (None, getattr(claim, name))}
        if columns:
            if "verification_level" in columns:
                _check_level(columns["verification_level"], actor.user)
            _update(claim, now=now, content_changed_at=max(now, claim.updated_at), **columns)
    return claim


def set_verification_level(claim: Claim, level: str, *, now: datetime) -> None:
    """Record how far a reviewer has verified a claim; raises ClaimNotFound for one that was deleted."""
    with transaction.atomic():
        _update(claim, now=now, verification_level=level)


def _update(claim: Claim, *, now: datetime, **columns: Any) -> None:
    # Not before the last transition: the next one must not come before it either, whatever the clock says.
    updated_at = max(now, claim.updated_at)
    if not Claim.objects.filter(pk=claim.pk).update(updated_at=updated_at, **columns):
        raise ClaimNotFound
    claim.refresh_from_db()
    record_claim_event("updated", claim, now=now)


def delete_claim(claim_id: str, *, actor: Actor, now: datetime) -> None:
    """Make a tombstone of the actor's own claim; raises ClaimNotFound, also for one that is a tombstone already."""
    with transaction.atomic(savepoint=False):
        claim: Claim = _find(_load_own, claim_id, actor.user)
        gone = {"deleted_at": now, "deleted_by": actor.user, "deleted_with": actor.credential}
        if not Claim.objects.filter(pk=claim.pk).update(**gone):
            raise ClaimNotFound
        record_claim_event("deleted", claim, now=now)


def _check_level(level: str, user: Any) -> None:
    if level not in OWN_LEVELS and not user.has_perm(REVIEW_PERMISSION):
        message = f"Only a reviewer can set '{level}'; you can set {' or '.join(sorted(OWN_LEVELS))}."
        raise ValidationFailed(
            f"verification_level: {message}", details=[{"field": "verification_level", "message": message}]
        )
