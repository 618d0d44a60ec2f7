"""The second factor of page sessions, and the encryption of their data."""

import json
from typing import Any

from django.http import HttpRequest

from config.core.encryption import opened, seal

# This session key contains the ID of the log-in's authenticator or passkey (see `identity.accounts.codes`).
SECOND_FACTOR = "second_factor"
BY_ISSUER = "issuer"  # the value of SECOND_FACTOR if the issuer of `STAFF_OIDC` checked the second factor
# This session key contains the ID of the log-in's `IssuerSession`. Deleting the row ends the session.
ISSUER_SESSION = "issuer_session"
# The associated data excludes the session's key, because Django does not pass the key to a serializer.
PLACE = "django_session|session_data"


def gave_second_factor(request: HttpRequest) -> bool:
    """Check whether the session used a second factor that the account still has."""
    second_factor = request.session.get(SECOND_FACTOR)
    user: Any = request.user
    if not second_factor or not user.is_authenticated:
        return False
    return second_factor == BY_ISSUER or bool(user.authenticator_set.filter(pk=second_factor).exists())


class SealedSessions:
    """Serializes and encrypts session data, because allauth stores secrets of new authenticators in the session."""

    def dumps(self, data: dict[str, Any]) -> bytes:
        return seal(json.dumps(data, separators=(",", ":")).encode(), PLACE)

    def loads(self, content: bytes) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(opened(content, PLACE, kind="a session"))
        return data
