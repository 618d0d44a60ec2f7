"""What other rooms ask about the caller of a request."""

from config.api.errors import UserMismatch
from config.api.views import ApiRequest
from config.lifecycle import Actor


def actor_of(request: ApiRequest) -> Actor:
    """Return the authenticated caller as the actor of a change."""
    return Actor(user=request.user, credential=request.auth.label)


def require_self(request: ApiRequest, user_id: str | int) -> None:
    """Raise UserMismatch unless `user_id`, as text in its one spelling or as a number, is the caller's own."""
    if str(user_id) != str(request.user.pk):
        raise UserMismatch
