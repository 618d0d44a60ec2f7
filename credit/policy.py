"""Who may move an application where, under each review policy (`REVIEW_POLICY`).

`open` is the specification to the letter: whoever may see an application may move it. `reviewed` gives decisions to
reviewers. `four_eyes` demands besides that a reviewer is not the consumer, and that whoever approves or rejects is not
who last changed the data.
"""

from typing import TYPE_CHECKING

from django.conf import settings

from config.api.errors import ApiError
from config.lifecycle import Actor, ReviewerRequired, Role
from credit.machine import DECIDED, MACHINE

if TYPE_CHECKING:
    from credit.models import Application


class InvalidApplicationTransition(ApiError):
    """A move that the application's status does not allow now."""

    error, code, stored = "invalid_application_transition", "E3001", True
    message = "The application cannot be moved there."

    @classmethod
    def between(cls, application: "Application", to: str) -> "InvalidApplicationTransition":
        """Say from where to where, and which moves are allowed now."""
        allowed = MACHINE.requestable_from(application.status)
        return cls(
            f"Cannot move application {application.pk} from '{application.status}' to '{to}'; "
            f"allowed: {', '.join(allowed) or 'none'}.",
            details={"from": application.status, "to": to, "allowed": allowed},
        )


def refusal_of(application: "Application", to: str, actor: Actor) -> ApiError | None:  # noqa: PLR0911  one per rule
    """Return the error that moving `application` to `to` meets for `actor` now, or None when the move is allowed."""
    role = MACHINE.moves_from(application.status).get(to)
    if role is None or (role is Role.SYSTEM) != actor.is_system:
        return InvalidApplicationTransition.between(application, to)
    if actor.is_system or settings.REVIEW_POLICY == "open":
        return None
    is_consumer = actor.user.pk == application.consumer_id
    if role is Role.OWNER or (role is Role.EITHER and is_consumer):
        return None if is_consumer else ReviewerRequired("Only the consumer may make this move.")
    if not application.is_reviewed_by(actor.user):
        return ReviewerRequired()
    if settings.REVIEW_POLICY == "four_eyes":
        if is_consumer:
            return ReviewerRequired("Nobody reviews their own application.")
        if to in DECIDED and actor.user.pk == application.data_changed_by_id:
            return ReviewerRequired("Whoever changed the application's data last cannot decide about it.")
    return None
