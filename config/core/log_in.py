"""The second factor and the encryption of page sessions."""

import json
from typing import Any

from django.http import HttpRequest

from config.core.encryption import opened, seal

# Session key: the id of the authenticator or passkey of this log-in, see `identity.accounts.codes`.
SECOND_FACTOR = "second_factor"
BY_ISSUER = "issuer"  # its value for staff whose second factor the issuer of `STAFF_OIDC` checked
# Session key: the id of the `IssuerSession` of a log-in at that issuer. The session ends with that row.
ISSUER_SESSION = "issuer_session"
# The place for encryption excludes the session's key, because Django does not pass the key to a serializer. Readers of
# the table can read the keys anyway.
PLACE = "django_session|session_data"


def gave_second_factor(request: HttpRequest) -> bool:
    """Return whether the session used a second factor that the account still has."""
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
        held: dict[str, Any] = json.loads(opened(content, PLACE))
        return held
