"""What the pages for people have in common: known devices, and what a session holds."""

import json
import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare

from config.core.encryption import opened, seal

# The cookie of a browser in which somebody has logged in.
KNOWN_DEVICE = "known_device"
KNOWN_SECONDS = 180 * 86_400
# In a session: the id of the authenticator or passkey that was given in it, see `identity.accounts.codes`.
SECOND_FACTOR = "second_factor"


def remember_device(response: HttpResponse, user: Any) -> HttpResponse:
    """Let a browser be known from now on, until the account gets another password."""
    response.set_signed_cookie(
        KNOWN_DEVICE,
        f"{user.pk}:{secrets.token_hex(16)}:{user.get_session_auth_hash()}",
        salt=KNOWN_DEVICE,
        max_age=KNOWN_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def known_device(request: HttpRequest, name: str) -> str | None:
    """Return the browser's id if the account of exactly this name, or of this address, has logged in with it."""
    kept = request.get_signed_cookie(KNOWN_DEVICE, "", salt=KNOWN_DEVICE, max_age=KNOWN_SECONDS)
    user_id, _, rest = (kept or "").partition(":")
    device, _, password = rest.partition(":")
    user: Any = get_user_model().objects.filter(pk=user_id).first() if device else None
    is_named = user is not None and (name == user.username or ("@" in name and name.lower() == user.email.lower()))
    if not is_named or not constant_time_compare(password, user.get_session_auth_hash()):
        return None
    return device


def gave_second_factor(request: HttpRequest) -> bool:
    """Say whether this session has the second factor, and the account still has what was given."""
    given = request.session.get(SECOND_FACTOR)
    user: Any = request.user
    return bool(given and user.is_authenticated and user.authenticator_set.filter(pk=given).exists())


class SealedSessions:
    """What a session holds, encrypted: allauth keeps there the secret of an authenticator that is being added."""

    def dumps(self, held: dict[str, Any]) -> bytes:
        return seal(json.dumps(held, separators=(",", ":")).encode())

    def loads(self, content: bytes) -> dict[str, Any]:
        held: dict[str, Any] = json.loads(opened(content))
        return held
