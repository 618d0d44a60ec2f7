"""The roles with which an invitation admits members of a lender."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from config.core.errors import ValidationFailed
from config.core.ids import first_or
from credit.core.errors import ProviderNotFound
from credit.models import Provider, ProviderMember
from credit.offers.providers import load_owned
from identity.accounts.models import Invitation
from identity.accounts.roles import InvitedRole


def _check_owner(inviter: Any, invitation: Invitation) -> None:
    """Raise ProviderNotFound or ProviderTaken if the inviter is not an owner of the lender.

    This sets the invitation's `organization` to the lender's name.
    """
    if not invitation.provider_id:
        raise ValidationFailed.of_member("provider_id", "A member requires a `provider_id`.")
    # An operator created the invitations without an inviter.
    if inviter is None:
        provider = first_or(Provider.objects.filter(pk=invitation.provider_id), ProviderNotFound)
    else:
        provider = load_owned(invitation.provider_id, inviter)
    invitation.organization = provider.name


def _admit_as(role: str) -> Callable[..., None]:
    def admit(invitation: Invitation, user: Any, *, now: datetime) -> None:  # noqa: ARG001
        ProviderMember.objects.get_or_create(provider_id=invitation.provider_id, user=user, defaults={"role": role})

    return admit


def _role(name: str, meaning: str, title: Any, role: str) -> InvitedRole:
    return InvitedRole(name, meaning, title, _check_owner, _admit_as(role), has_name=True)


_REVIEWER = gettext_lazy("a reviewer")
ROLES = (
    # Invitations of version 1.0 have the role `member`, which means `reviewer`.
    _role("member", "same as `reviewer`", _REVIEWER, ProviderMember.REVIEWER),
    _role(
        ProviderMember.OWNER,
        "manages offers, members, and decisions of the lender `provider_id`",
        gettext_lazy("an owner"),
        ProviderMember.OWNER,
    ),
    _role(
        ProviderMember.REVIEWER,
        "decides applications to the lender `provider_id`",
        _REVIEWER,
        ProviderMember.REVIEWER,
    ),
    _role(
        ProviderMember.READER,
        "reads applications to the lender `provider_id`",
        gettext_lazy("a reader"),
        ProviderMember.READER,
    ),
)
