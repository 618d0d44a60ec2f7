"""Coming in by an invitation: its link leads to a page with a button, which opens the form for its address."""

from django.http import HttpRequest
from django.utils import timezone

from identity.access.models import User
from identity.accounts import invitations
from identity.accounts.links import LinkEnded
from identity.accounts.models import Invitation

_SESSION_KEY = "account.invitation"


def remember(request: HttpRequest, token: str, invitation: Invitation) -> None:
    """Let this session sign up as whom the invitation names, whose address its link has shown to be theirs."""
    request.session[_SESSION_KEY] = token
    request.session["account_verified_email"] = invitation.email


def of_link(token: str) -> Invitation | None:
    """Return the invitation of a link, while it counts."""
    try:
        return invitations.find(token, now=timezone.now())
    except LinkEnded:
        return None


def of_session(request: HttpRequest) -> Invitation | None:
    """Return the invitation that this session came by, while it counts."""
    token = request.session.get(_SESSION_KEY)
    return None if token is None else of_link(token)


def take_up(request: HttpRequest, user: User) -> None:
    """Accept the session's invitation for a new account; nothing happens without one. Raises LinkEnded."""
    token = request.session.pop(_SESSION_KEY, None)
    if token is not None:
        invitations.accept(token, user, timezone.now(), by_link=True)


def forget(request: HttpRequest) -> None:
    request.session.pop(_SESSION_KEY, None)
