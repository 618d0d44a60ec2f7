"""Pins the listed offer to an application as it is submitted."""

from typing import Any

from config.core.lifecycle import Transition
from config.core.prepared import PreparedSelect
from credit.core.due import Asked
from credit.core.errors import RequirementsDue
from credit.core.machine import SUBMITTED
from credit.models import Application, Offer

_PINNED = ("provider_id", *Offer.TERMS)  # as `Offer.terms` has them
_find_offer = PreparedSelect(
    lambda offer_id: Offer.objects.filter(pk=offer_id), ("is_active", "version", *_PINNED), parsed=True
).first


def pin_at_submission(application: Application, transition: Transition) -> dict[str, Any]:
    """Return the columns that the first submission sets; raises as `pinned_offer`."""
    is_first = transition.to == SUBMITTED and application.submitted_at is None
    return pinned_offer(application) if is_first else {}


def pinned_offer(application: Application) -> dict[str, Any]:
    """Return the columns that keep the listed offer as it is now; none for an offer unknown here.

    Raises RequirementsDue for an offer that has ended, and if the application lacks what the offer asks for; an unknown
    offer asks for an age of 18.
    """
    pinned: dict[str, Any] = {}
    if (offer := _find_offer(offer_id=application.offer_id)) is not None:
        is_active, version, *terms = offer
        ended = Asked(has_ended=not is_active).due(data=None, persons=None, handed_in=())
        if refusal := RequirementsDue.of(ended):
            raise refusal
        pinned = {"offer_version": version, "offer_snapshot": dict(zip(_PINNED, terms, strict=True))}
    application.check_due(pinned)
    return pinned
