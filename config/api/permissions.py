from typing import Any

from rest_framework.permissions import BasePermission

from config.core.credentials import PUBLIC, AuthenticationRequired, InsufficientScope


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
