"""Who decides about claims, and who may see one."""

from typing import Any

from django.db.models import Q

from claims.machine import CONDITIONAL, SHARED
from config.core.permissions import holds

REVIEW_PERMISSION = "claims.review_claim"


def is_reviewer(user: Any) -> bool:
    """Say whether `user` may decide about claims."""
    return bool(user.has_perm(REVIEW_PERMISSION))


def visible_to(user_id: Any) -> Q:
    """Select the claims that an account may read."""
    conditional = Q(visibility=CONDITIONAL) & holds(user_id, REVIEW_PERMISSION)
    return Q(user_id=user_id) | Q(visibility=SHARED) | conditional


def movable_by(user_id: Any) -> Q:
    """Select the claims whose status an account may ask to change: its own, and those it reads as a reviewer."""
    return Q(user_id=user_id) | (Q(visibility__in=(SHARED, CONDITIONAL)) & holds(user_id, REVIEW_PERMISSION))
