"""Members of a lender who are invited by mail (`identity/accounts`), and accounts that partners can't act for."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from config.core.errors import ValidationFailed
from config.ops.pruning import Rule
from credit.core.errors import ProviderNotFound
from credit.models import Provider, ProviderInvitation, ProviderMember
from credit.offers.providers import load_owned
from identity.accounts.models import Invitation
from identity.accounts.roles import InvitedRole


def _check_owner(inviter: Any, invitation: Invitation) -> None:
    """Raise ProviderNotFound or ProviderTaken unless the inviter owns the lender."""
    if not invitation.provider_id:
        raise ValidationFailed.of_member("provider_id", "A member requires a `provider_id`.")
    if inviter is None:  # an operator invites
        if not Provider.objects.filter(pk=invitation.provider_id).exists():
            raise ProviderNotFound
    else:
        load_owned(invitation.provider_id, inviter)


def _admit_as(role: str) -> Callable[..., None]:
    def admit(invitation: Invitation, user: Any, *, now: datetime) -> None:  # noqa: ARG001
        ProviderMember.objects.get_or_create(provider_id=invitation.provider_id, user=user, defaults={"role": role})

    return admit


def why_nobody_acts_for(user_id: int) -> str:
    """Return why a partner gets no token for an account; "" if it does. A lender's member reads other people's data."""
    return "The account is a member of a lender." if ProviderMember.objects.filter(user_id=user_id).exists() else ""


# Older invitations have the role `member`, which means reviewer.
_MEANINGS = {
    "member": (ProviderMember.REVIEWER, "same as `reviewer`"),
    ProviderMember.OWNER: (
        ProviderMember.OWNER,
        "manages offers, members, and decisions of the lender `provider_id`",
    ),
    ProviderMember.REVIEWER: (ProviderMember.REVIEWER, "decides applications to the lender `provider_id`"),
    ProviderMember.READER: (ProviderMember.READER, "reads applications to the lender `provider_id`"),
}
ROLES = tuple(InvitedRole(name, meaning, _check_owner, _admit_as(role)) for name, (role, meaning) in _MEANINGS.items())


def _over(now: datetime) -> QuerySet[ProviderInvitation]:
    return ProviderInvitation.objects.filter(invited_at__lte=now - ProviderInvitation.VALID_FOR)


PRUNE_RULES = (Rule(ProviderInvitation, "provider_invitations", _over),)
