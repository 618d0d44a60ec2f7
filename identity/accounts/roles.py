"""Roles of invitations. Apps declare their own roles (`invitation_roles` of their AppConfig).

This is a separate module, because the ledger's process imports the declarations of all apps without allauth's models.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.utils.translation import gettext, gettext_lazy

from config.core.credentials import InsufficientScope
from config.core.errors import ValidationFailed
from config.core.groups import LENDER, PARTNER
from config.core.registration import declared
from identity.access.models import User
from identity.accounts.models import Invitation

STAFF = "staff"
MAY_INVITE, MAY_INVITE_STAFF = "identity.add_invitation", "identity.change_user"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of an accepted invitation: a title, what the account can do, and what is missing."""

    title: str
    allowed: str
    missing: str = ""


def _accepted(invitation: Invitation, allowed: str) -> Outcome:
    facts = {"inviter": settings.PROVIDER_NAME, "role": roles()[invitation.role].title}
    return Outcome(gettext("You accepted the invitation of %(inviter)s as %(role)s") % facts, allowed)


def _outcome(allowed: Any) -> Callable[[Invitation, User], Outcome]:
    return lambda invitation, _user: _accepted(invitation, str(allowed))


@dataclass(frozen=True, slots=True)
class InvitedRole:
    """A role with its permission check and its assignment.

    `title` is the role with its article. `check(inviter, invitation)` raises ApiError if the inviter lacks permission.
    The check runs at the invitation and at the acceptance. If `inviter` is None, the inviter is an operator, who has
    permission. `check` sets `invitation.organization` if an organization other than the platform invites.
    `admit(invitation, user, now=…)` assigns the role in the transaction of the acceptance. `outcome(invitation, user)`
    describes the role on the page after the acceptance, and returns None if the account has lost the role. If
    `has_name` is True, colleagues see the account, so the sign-up requires a name. `qualifier` is the field of the
    invitation that the role requires: `provider_id`, `group`, or none.
    """

    name: str
    meaning: str
    title: Any
    check: Callable[[Any, Invitation], None]
    admit: Callable[..., None]
    outcome: Callable[[Invitation, User], Outcome | None]
    has_name: bool = False
    qualifier: str = ""


@cache
def roles() -> dict[str, InvitedRole]:
    return {role.name: role for role in declared("invitation_roles")}


def words_of(invitation: Invitation) -> dict[str, str]:
    """Return the names of the inviter and of the role, in the active language.

    Call this function after the role's check of the invitation.
    """
    title = str(roles()[invitation.role].title)
    return {"inviter": invitation.organization or settings.PROVIDER_NAME, "role": title}


def require(inviter: Any, permission: str) -> None:
    if inviter is not None and not inviter.has_perm(permission):
        raise InsufficientScope("Your account can't invite with this role.", details={"required": permission})


def is_partner(user: Any) -> bool:
    return bool(user.groups.filter(name=PARTNER).exists())


def _check_outsider(inviter: Any, _invitation: Invitation) -> None:
    require(inviter, MAY_INVITE)


def _check_staff(inviter: Any, invitation: Invitation) -> None:
    require(inviter, MAY_INVITE_STAFF)
    if invitation.group in {"", LENDER, PARTNER} or not Group.objects.filter(name=invitation.group).exists():
        raise ValidationFailed.of_member("group", "Staff group not found.")


def _admit_nothing(_invitation: Invitation, _user: User, *, now: datetime) -> None:
    """Do nothing, because a developer only needs an account."""


def _admit_to(group: str) -> Callable[..., None]:
    def admit(_invitation: Invitation, user: User, *, now: datetime) -> None:  # noqa: ARG001
        user.groups.add(Group.objects.get(name=group))

    return admit


def _admit_staff(invitation: Invitation, user: User, *, now: datetime) -> None:  # noqa: ARG001
    user.groups.add(Group.objects.get(name=invitation.group))
    user.is_staff = True
    user.save(update_fields=["is_staff"])


def _outcome_of_staff(invitation: Invitation, user: User) -> Outcome | None:
    if not user.is_staff:
        return None
    return _accepted(
        invitation, gettext("You can use the back office, in the group %(group)s.") % {"group": invitation.group}
    )


ROLES = (
    InvitedRole(
        "developer",
        "gets an account",
        gettext_lazy("a developer"),
        _check_outsider,
        _admit_nothing,
        _outcome(gettext_lazy("You can create API keys, OAuth clients, and webhooks.")),
    ),
    InvitedRole(
        "partner",
        "creates accounts for its own customers",
        gettext_lazy("a partner"),
        _check_outsider,
        _admit_to(PARTNER),
        _outcome(gettext_lazy("You can create accounts for your customers with the API.")),
    ),
    InvitedRole(
        "lender",
        "creates lenders that it owns",
        gettext_lazy("a lender"),
        _check_outsider,
        _admit_to(LENDER),
        _outcome(gettext_lazy("You can create a lender with the API. After that, you can open the lender console.")),
        has_name=True,
    ),
    InvitedRole(
        STAFF,
        "uses the back office, in `group`",
        gettext_lazy("a member of its staff"),
        _check_staff,
        _admit_staff,
        _outcome_of_staff,
        has_name=True,
        qualifier="group",
    ),
)
