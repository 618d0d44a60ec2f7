"""Decisions that take two people, proposed by one and confirmed by another: at the back office, by the interface, or
one at each.

A proposal is bound to what its author saw of the record (`seen`, a text that the record's app makes). Whoever proposes
or confirms holds the record's row lock, so that what was seen is what is decided about.
"""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from config.backoffice.models import Proposal, named
from config.core.errors import ApiError
from config.core.lifecycle import Actor


class AlreadyProposed(ApiError):
    message = "A proposal waits already. Confirm or decline that one first."


def open_proposal(record: Any) -> Proposal | None:
    """Return the proposal that waits, also one that no longer counts; None when there is none."""
    waiting = Proposal.objects.select_related("proposed_by").filter(closed_at__isnull=True)
    return waiting.filter(**named(record)).first()


def propose(
    record: Any, to: str, *, seen: str, by: Actor, now: datetime, reason: str | None, metadata: Any
) -> Proposal:
    """Keep a decision for somebody else to confirm, in place of a void one; raises AlreadyProposed."""
    earlier = open_proposal(record)
    if earlier is not None and earlier.seen != seen:
        earlier.close(Proposal.VOID, by=by.user, now=now)
    proposer = {"proposed_by": by.user, "proposed_as": by.credential if by.user is None else ""}
    decision = {"to": to, "reason": reason, "metadata": metadata, "seen": seen}
    try:
        with transaction.atomic():
            return Proposal.objects.create(**named(record), **decision, **proposer, proposed_at=now)
    except IntegrityError as error:
        raise AlreadyProposed from error


def confirmed_metadata(proposal: Proposal, *, by: Any, metadata: Any = None) -> dict[str, Any]:
    """Return what the history keeps of a confirmed proposal: who the two were, beside what they gave themselves."""
    given = proposal.metadata if metadata is None else metadata
    beside = given if isinstance(given, dict) else {} if given is None else {"given": given}
    four_eyes = {
        "proposed_by": proposal.proposer,
        "proposed_at": proposal.proposed_at.isoformat(),
        "confirmed_by": by.get_username(),
        "seen": proposal.seen,
    }
    return {**beside, "four_eyes": four_eyes}
