from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, Q


def holds(user_id: Any, permission: str) -> Q:
    """Return the condition that an account is active and has a permission (`app.codename`), as `has_perm` says it.

    For a statement that finds a record and asks who may see it at once. Asked for afterwards, the permission would take
    time only where there is a record, and so tell strangers that there is one.
    """
    accounts: Any = get_user_model()._default_manager
    return Q(Exists(accounts.with_perm(permission).filter(pk=user_id)))
