from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, Q


def holds(user_id: Any, permission: str) -> Q:
    """Return an SQL condition that is true if an account is active and has a permission (`app.codename`).

    It is equivalent to `has_perm`. With the condition, one statement finds a record and checks the permission to read
    it. A separate check would take time only if the record exists, and so reveal its existence.
    """
    accounts: Any = get_user_model()._default_manager
    return Q(Exists(accounts.with_perm(permission).filter(pk=user_id)))
