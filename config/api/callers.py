"""What apps ask about the caller of a request."""

from config.api.views import ApiRequest
from config.core.errors import UserMismatch
from config.core.lifecycle import Actor


def actor_of(request: ApiRequest) -> Actor:
    """Return the authenticated caller as the actor of a change."""
    return Actor(
        user=request.user,
        credential=request.auth.label,
        second_factor=request.auth.second_factor,
        limited=request.auth.scopes is not None,
    )


def require_self(request: ApiRequest, user_id: str | int, *, member: str = "user_id") -> None:
    """Raise UserMismatch, naming the member, unless `user_id` (text in its one spelling, or a number) is the caller."""
    if str(user_id) != str(request.user.pk):
        raise UserMismatch(member)
