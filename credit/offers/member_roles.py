"""The roles that an invitation to a lender can assign."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_lazy

from config.core.errors import ValidationFailed
from config.core.groups import LENDER
from config.core.ids import first_or
from credit.core.errors import ProviderNotFound
from credit.models import Provider, ProviderMember
from credit.offers.providers import load_owned
from identity.accounts.models import Invitation
from identity.accounts.roles import InvitedRole, Outcome

# Members can use the lender console if they or the lender's creator are in the group LENDER.
_HAS_CONSOLE = Q(user__groups__name=LENDER) | Q(provider__owner__groups__name=LENDER)


def console_memberships(user: Any) -> QuerySet[ProviderMember]:
    """Return the memberships with access to the lender console."""
    members = ProviderMember.objects.filter(_HAS_CONSOLE, user=user)
    return members.select_related("provider").order_by("id").distinct()


def closed_console(user: Any) -> str:
    """Return why a member of a lender has no lender console, or "" for other accounts."""
    member = ProviderMember.objects.filter(user=user).select_related("provider").order_by("id").first()
    if member is None or console_memberships(user).exists():
        return ""
    facts = {"role": _TITLES[member.role], "lender": name_of(member.provider)}
    return gettext("You are %(role)s of %(lender)s.") % facts + " " + _outcome_of(member).missing


def name_of(provider: Provider) -> str:
    return provider.name or gettext("lender %(id)s") % {"id": provider.pk}


def _outcome(invitation: Invitation, user: Any) -> Outcome | None:
    """Describe the account's present role, which can differ from the invitation's role."""
    members = ProviderMember.objects.filter(provider_id=invitation.provider_id, user=user)
    member = members.select_related("provider").first()
    return None if member is None else _outcome_of(member)


def _outcome_of(member: ProviderMember) -> Outcome:
    operator, lender = settings.PROVIDER_NAME, name_of(member.provider)
    title = gettext("You are now %(role)s of %(lender)s") % {"role": _TITLES[member.role], "lender": lender}
    allowed = str(_ALLOWED[member.role])
    if console_memberships(member.user_id).filter(pk=member.pk).exists():
        return Outcome(title, allowed)
    missing = gettext(
        "%(operator)s has not opened the lender console for %(lender)s. To open it, ask a superuser of %(operator)s to "
        "add your account, or the account that created the lender, to the group %(group)s. Until then, use the API."
    )
    return Outcome(title, allowed, missing % {"operator": operator, "lender": lender, "group": LENDER})


def _check_owner(inviter: Any, invitation: Invitation) -> None:
    """Raise ProviderNotFound or ProviderTaken for an inviter who is not an owner. Set `invitation.organization`."""
    if not invitation.provider_id:
        raise ValidationFailed.of_member("provider_id", "A member requires a `provider_id`.")
    # An operator created the invitations without an inviter.
    if inviter is None:
        provider = first_or(Provider.objects.filter(pk=invitation.provider_id), ProviderNotFound)
    else:
        provider = load_owned(invitation.provider_id, inviter)
    invitation.organization = name_of(provider)


def _admit_as(role: str) -> Callable[..., None]:
    def admit(invitation: Invitation, user: Any, *, now: datetime) -> None:  # noqa: ARG001
        ProviderMember.objects.get_or_create(provider_id=invitation.provider_id, user=user, defaults={"role": role})

    return admit


_TITLES = {
    ProviderMember.OWNER: gettext_lazy("an owner"),
    ProviderMember.REVIEWER: gettext_lazy("a reviewer"),
    ProviderMember.READER: gettext_lazy("a reader"),
}
_ALLOWED = {
    ProviderMember.OWNER: gettext_lazy(
        "You can decide applications to the lender, make offers, invite members, and change the lender's data."
    ),
    ProviderMember.REVIEWER: gettext_lazy("You can read and decide the applications to the lender."),
    ProviderMember.READER: gettext_lazy("You can view the applications that the lender received."),
}


def _role(name: str, meaning: str, role: str) -> InvitedRole:
    options: Any = {"has_name": True, "qualifier": "provider_id"}
    return InvitedRole(name, meaning, _TITLES[role], _check_owner, _admit_as(role), _outcome, **options)


ROLES = (
    # Invitations of version 1.0 have the role `member`, which means `reviewer`.
    _role("member", "same as `reviewer`", ProviderMember.REVIEWER),
    _role(
        ProviderMember.OWNER,
        "manages offers, members, and decisions of the lender `provider_id`",
        ProviderMember.OWNER,
    ),
    _role(ProviderMember.REVIEWER, "decides applications to the lender `provider_id`", ProviderMember.REVIEWER),
    _role(ProviderMember.READER, "reads applications to the lender `provider_id`", ProviderMember.READER),
)
