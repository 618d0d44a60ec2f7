"""Making, changing, finding and deleting claims."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from claims.doi import publication_key
from claims.errors import ClaimNotFound
from claims.machine import CONDITIONAL, OWN_LEVELS, SHARED
from claims.models import Claim, record_claim_event
from claims.policy import is_reviewer, movable_by, visible_to
from claims.serializers import ClaimAnswer
from config.api.prepared import PreparedGet, PreparedSelect, insert
from config.core.errors import UserMismatch, ValidationFailed
from config.core.ids import parse_positive_int64, parse_uuid
from config.core.lifecycle import Actor
from config.webhooks.events import record_events

_load = PreparedGet(Claim, lambda claim_id: Claim.objects.filter(pk=claim_id))
_load_movable = PreparedGet(Claim, lambda claim_id, user_id: Claim.objects.filter(movable_by(user_id), pk=claim_id))
_read = PreparedSelect(
    lambda claim_id, user_id: Claim.objects.filter(visible_to(user_id), pk=claim_id), ClaimAnswer.sources()
).first


def show_claim(claim_id: str, user: Any) -> dict[str, Any]:
    """Return the answer for one claim, in one query; raises ClaimNotFound unless `user` may see it."""
    identifier = parse_uuid(claim_id)
    row = _read(claim_id=identifier, user_id=user.pk) if identifier else None
    if row is None:
        raise ClaimNotFound
    return ClaimAnswer.represent_values(row)


def load_own(claim_id: str, user: Any) -> Claim:
    """Return the claim if `user` is its owner; raises ClaimNotFound otherwise."""
    identifier = parse_uuid(claim_id)
    claim = _load(claim_id=identifier) if identifier else None
    if claim is None or claim.user_id != user.pk:
        raise ClaimNotFound
    return claim


def load_movable(claim_id: str, user: Any) -> Claim:
    """Return the claim if `user` is its owner, or a reviewer who may see it; raises ClaimNotFound otherwise."""
    identifier = parse_uuid(claim_id)
    claim = _load_movable(claim_id=identifier, user_id=user.pk) if identifier else None
    if claim is None:
        raise ClaimNotFound
    return claim


class ClaimList:
    """The caller's own claims, and the claims to a publication that the caller may see; newest first.

    One statement per set of filters. The page's ids come from an index alone, so that an offset costs index entries
    and not rows.
    """

    FILTERS = ("user_id", "publication_key", "status", "verification_level")

    def __init__(self) -> None:
        """Start with no statement compiled."""
        self._statements: dict[tuple[tuple[str, ...], tuple[str, ...]], PreparedSelect] = {}

    def own(self, *, owner_id: int, limit: int, offset: int, **filters: Any) -> list[dict[str, Any]]:
        """Return a page of one account's claims."""
        return self._page((), {**filters, "user_id": owner_id, "limit": limit, "offset": offset})

    def of_publication(self, *, viewer: Any, limit: int, offset: int, **filters: Any) -> list[dict[str, Any]]:
        """Return a page of the claims to `publication_key` that `viewer` may see; `user_id` narrows it to an owner."""
        shown = (SHARED, CONDITIONAL) if is_reviewer(viewer) else (SHARED,)
        return self._page(shown, {**filters, "viewer_id": viewer.pk, "limit": limit, "offset": offset})

    def _page(self, shown: tuple[str, ...], arguments: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the answers of one page; `shown` are the visibilities in which others' claims are seen."""
        given = tuple(name for name in self.FILTERS if name in arguments)
        statement = self._statements.get((shown, given))
        if statement is None:
            statement = self._statements[shown, given] = _listing(shown, given)
        represent = ClaimAnswer.represent_values
        return [represent(row) for row in statement.rows(**arguments)]


def _listing(shown: tuple[str, ...], filters: tuple[str, ...]) -> PreparedSelect:
    """Return the statement for a list with these filters; `shown` is empty where only one's own are asked for."""

    def build(**arguments: Any) -> Any:
        found = Claim.objects.filter(**{name: arguments[name] for name in filters})
        if shown:
            found = found.filter(Q(visibility__in=shown) | Q(user_id=arguments["viewer_id"]))
        offset, limit = arguments["offset"], arguments["limit"]
        page = found.order_by("-id").values("id")[offset : offset + limit]
        return Claim.objects.filter(id__in=page).order_by("-id")

    viewer = ("viewer_id",) if shown else ()
    return PreparedSelect(build, ClaimAnswer.sources(), arguments=(*filters, *viewer, "limit", "offset"))


_claim_list = ClaimList()


def list_claims(
    *, viewer: Any, user_id: str = "", publication_id: str = "", limit: int, offset: int, **filters: Any
) -> list[dict[str, Any]]:
    """Return a page of answers: the viewer's own claims, or those to a publication that the viewer may see.

    Raises UserMismatch when somebody else's claims are asked for without naming a publication.
    """
    page = {"limit": limit, "offset": offset}
    if publication_id:
        filters["publication_key"] = publication_key(publication_id)
    if user_id == str(viewer.pk) or not (user_id or publication_id):
        return _claim_list.own(owner_id=viewer.pk, **page, **filters)
    if not publication_id:
        raise UserMismatch
    if user_id:
        filters["user_id"] = parse_positive_int64(user_id)
        if filters["user_id"] is None:
            return []
    return _claim_list.of_publication(viewer=viewer, **page, **filters)


def create_claim(*, actor: Actor, members: dict[str, Any], now: datetime) -> Claim:
    """Make a claim of the actor's own, in `draft`.

    Raises ValidationFailed for a verification level that is not the actor's to set.
    """
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

    Raises ClaimNotFound, or ValidationFailed for a verification level that is not the actor's to set. What is given as
    it is already is no change, and tells nobody.
    """
    with transaction.atomic(savepoint=False):
        claim = load_own(claim_id, actor.user)
        columns: dict[str, Any] = {
            name: value for name, value in changes.items() if value is not None and value != getattr(claim, name)
        }
        if not columns:
            return claim
        if "verification_level" in columns:
            _check_level(columns["verification_level"], actor.user)
        # Not before the last transition: the next one must not come before it either, whatever the clock says.
        columns |= dict.fromkeys(("updated_at", "content_changed_at"), max(now, claim.updated_at))
        if not Claim.objects.filter(pk=claim.pk).update(**columns):
            raise ClaimNotFound
        claim.refresh_from_db()
        record_claim_event("updated", claim, now=now)
    return claim


def set_verification_level(claim: Claim, level: str, *, now: datetime) -> None:
    """Record how far a reviewer has verified a claim; raises ClaimNotFound for one that was deleted."""
    with transaction.atomic():
        columns = {"verification_level": level, "updated_at": max(now, claim.updated_at)}
        if not Claim.objects.filter(pk=claim.pk).update(**columns):
            raise ClaimNotFound
        claim.refresh_from_db()
        record_claim_event("updated", claim, now=now)


def delete_claim(claim_id: str, *, actor: Actor, now: datetime) -> None:
    """Make a tombstone of the actor's own claim; raises ClaimNotFound, also for one that is a tombstone already."""
    with transaction.atomic(savepoint=False):
        claim = load_own(claim_id, actor.user)
        gone = {"deleted_at": now, "deleted_by": actor.user, "deleted_with": actor.credential}
        if not Claim.objects.filter(pk=claim.pk).update(**gone):
            raise ClaimNotFound
        record_claim_event("deleted", claim, now=now)


def _check_level(level: str, user: Any) -> None:
    """Raise ValidationFailed unless `user` may set this verification level."""
    if level not in OWN_LEVELS and not is_reviewer(user):
        message = f"Only a reviewer can set '{level}'; you can set {' or '.join(sorted(OWN_LEVELS))}."
        raise ValidationFailed(
            f"verification_level: {message}", details=[{"field": "verification_level", "message": message}]
        )
