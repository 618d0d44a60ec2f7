"""The second factor of page sessions, and the encryption of their data."""

import json
from typing import Any

from django.http import HttpRequest

from config.core.encryption import opened, seal

# Session key: the id of the authenticator or passkey of this log-in, see `identity.accounts.codes`.
SECOND_FACTOR = "second_factor"
BY_ISSUER = "issuer"  # the value of SECOND_FACTOR if the issuer of `STAFF_OIDC` checked the second factor
# Session key: the id of the `IssuerSession` of a log-in at that issuer. If the row is deleted, the session ends.
ISSUER_SESSION = "issuer_session"
# The place for encryption excludes the session's key, because Django does not pass the key to a serializer. A reader of
# the table can read the keys anyway.
PLACE = "django_session|session_data"


def gave_second_factor(request: HttpRequest) -> bool:
    """Check whether the session used a second factor that the account still has."""
    second_factor = request.session.get(SECOND_FACTOR)
    user: Any = request.user
    if not second_factor or not user.is_authenticated:
        return False
    return second_factor == BY_ISSUER or bool(user.authenticator_set.filter(pk=second_factor).exists())


class SealedSessions:
    """Encrypts session data, in which allauth stores the secret of an authenticator that is being added."""

    def dumps(self, held: dict[str, Any]) -> bytes:
        return seal(json.dumps(held, separators=(",", ":")).encode(), PLACE)

    def loads(self, content: bytes) -> dict[str, Any]:
        held: dict[str, Any] = json.loads(opened(content, PLACE, kind="a session"))
        return held
