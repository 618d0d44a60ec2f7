from typing import Any

from rest_framework.permissions import BasePermission

from config.core.credentials import FIRST_PARTY, LOG_IN, PUBLIC, AuthenticationRequired
from config.core.errors import ApiError


class InsufficientScope(ApiError):
    status, error, code = 403, "insufficient_scope", "E2005"
    message = "The credential lacks the scope for this."

    @classmethod
    def lacking(cls, access: str) -> "InsufficientScope":
        if access == FIRST_PARTY:
            return cls("No scope covers this: it needs the account's own log-in, or an API key without a scope list.")
        if access == LOG_IN:
            return cls("No key and no scope covers this: it needs a token of the account's own log-in.")
        return cls(f"This needs the scope {access}.", details={"required": access})


class HasScope(BasePermission):
    def has_permission(self, request: Any, view: Any) -> bool:
        access, credential = view.declared.access, request.auth
        if access == PUBLIC:
            return True
        if credential is None:
            raise AuthenticationRequired
        if not credential.carries(access):
            raise InsufficientScope.lacking(access)
        return True
