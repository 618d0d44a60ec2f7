from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, Q


def holds(user_id: Any, permission: str) -> Q:
    """Return the SQL condition that an account is active and has a permission (`app.codename`), like `has_perm`.

    It makes one statement find a record and check the permission to read it. A separate check would cost time only if
    the record exists, which would reveal its existence.
    """
    accounts: Any = get_user_model()._default_manager
    return Q(Exists(accounts.with_perm(permission).filter(pk=user_id)))
