from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, Q


def holds(user_id: Any, permission: str) -> Q:
    """Return a condition that is true for an active account with a permission (`app.codename`), like `has_perm`.

    With this condition, one statement finds a record and checks the permission. A separate check would reveal by its
    duration that a record exists.
    """
    accounts: Any = get_user_model()._default_manager
    return Q(Exists(accounts.with_perm(permission).filter(pk=user_id)))
