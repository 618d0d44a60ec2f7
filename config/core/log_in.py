"""The encrypted data of a page session, and its second factor."""

import json
from typing import Any

from django.http import HttpRequest

from config.core.encryption import opened, seal

# In a session: the id of the authenticator or passkey that the session used, see `identity.accounts.codes`.
SECOND_FACTOR = "second_factor"
BY_ISSUER = "issuer"  # in its place, for staff whose second factor the issuer of `STAFF_OIDC` has checked
# In a session that began at that issuer: the id of its `IssuerSession`. The session ends with that row.
ISSUER_SESSION = "issuer_session"
# The session's key cannot be part of it: Django's serializers do not know it. A reader of the table can read the keys
# anyway.
PLACE = "django_session|session_data"


def gave_second_factor(request: HttpRequest) -> bool:
    """Return whether this session has the second factor, and the account still has that factor."""
    given = request.session.get(SECOND_FACTOR)
    user: Any = request.user
    if not given or not user.is_authenticated:
        return False
    return given == BY_ISSUER or bool(user.authenticator_set.filter(pk=given).exists())


class SealedSessions:
    """Encrypt a session's data: allauth stores the secret of an authenticator that is being added in it."""

    def dumps(self, held: dict[str, Any]) -> bytes:
        return seal(json.dumps(held, separators=(",", ":")).encode(), PLACE)

    def loads(self, content: bytes) -> dict[str, Any]:
        held: dict[str, Any] = json.loads(opened(content, PLACE))
        return held
