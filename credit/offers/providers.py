"""Manage lenders, their members and invitations, and the applications that are sent to a lender."""

import secrets
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core import checks
from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Value, When
from django.db.models.lookups import IsNull
from django.utils import timezone

from config.core.casework import DataAccess
from config.core.credentials import InsufficientScope
from config.core.errors import NotFound, ValidationFailed
from config.core.ids import INT64_MAX, INT64_MIN, first_or, get_by_uuid, queryable
from config.core.lifecycle import Actor
from config.core.names import NameTaken, check_keys, name_key, save_named
from config.webhooks.events import record_event
from credit.core.errors import ProviderNotFound, ProviderTaken
from credit.core.eu_credit import NO_REGIME, REQUIRED_BY_REGIME
from credit.core.jurisdictions import EU
from credit.core.logos import Logo
from credit.models import Application, Clock, Notice, Offer, Provider, ProviderInvitation, ProviderLogo, ProviderMember
from credit.models.notices import DUE
from identity.access.second_factor import require_lender_factor, require_second_factor
from identity.models import User

ADD_PERMISSION = "credit.add_provider"
INVITATIONS_MAX = 50
# A lender's number has twelve digits, which every JSON parser represents exactly. This number is the smallest.
_FIRST_NUMBER = 10**11


def claim_provider(provider_id: str, actor: Actor, now: datetime, *, roles: Collection[str]) -> Provider:
    """Return the lender with this ID. If only the operator assigns IDs, the lender must exist.

    Otherwise, an unused ID is assigned to the actor. Raises SecondFactorRequired. Raises ProviderTaken if the actor has
    none of the `roles`. Requires a transaction.
    """
    require_lender_factor(actor)
    user = actor.user
    if settings.PROVIDERS == "granted":
        provider = first_or(
            Provider.objects.filter(pk=provider_id),
            ProviderTaken("The operator assigns the ids of lenders, and this id does not belong to your account."),
        )
    else:
        provider, is_new = Provider.objects.get_or_create(id=provider_id, defaults={"owner": user, "created_at": now})
        if is_new:
            ProviderMember.objects.create(provider=provider, user=user, role=ProviderMember.OWNER)
            return provider
    role = role_of(provider, user)
    if role is None:
        raise ProviderTaken
    if role not in roles:
        raise ProviderTaken(f"This requires the lender's role {' or '.join(roles)}.")
    return provider


def role_of(provider: Provider, user: Any) -> str | None:
    """Return the role of `user` for a lender, or None. The account that created the lender is an owner."""
    if provider.owner_id == user.pk:
        return ProviderMember.OWNER
    return ProviderMember.objects.filter(provider=provider, user=user).values_list("role", flat=True).first()


def make_provider(name: str, *, actor: Actor, now: datetime, logo: Logo | None = None, **columns: Any) -> Provider:
    """Create a lender that the actor owns. The lender gets a number that no lender and no submitted application has.

    `columns` sets other fields of the lender. The lender can't read drafts that already have this number. Raises
    InsufficientScope without the permission, and SecondFactorRequired. Raises ValidationFailed if the name resembles
    the name of another lender.
    """
    if not actor.user.has_perm(ADD_PERMISSION):
        raise InsufficientScope(
            "Your account must be in the group Lender. Staff can add it.", details={"required": ADD_PERMISSION}
        )
    require_second_factor(actor)
    with transaction.atomic(savepoint=False):
        while True:
            number = _FIRST_NUMBER + secrets.randbelow(9 * _FIRST_NUMBER)
            if Application.objects.filter(provider_id=number, submitted_at__isnull=False).exists():
                continue
            columns |= {"name": name, "name_key": name_key(name), "owner": actor.user, "created_at": now}
            try:
                provider, is_new = Provider.objects.get_or_create(id=str(number), defaults=columns)
            except IntegrityError as error:
                raise _name_refusal() from error
            if is_new:
                ProviderMember.objects.create(provider=provider, user=actor.user, role=ProviderMember.OWNER)
                _save_logo(provider, logo)
                return provider


def change_provider(provider_id: str, *, name: str, address: str, by: Actor, **columns: Any) -> Provider:
    """Replace the name, the address, and further fields of a lender. The logo changes only if `columns` has `logo`.

    Raises SecondFactorRequired, ProviderNotFound, and ProviderTaken. Raises ValidationFailed if a notice or an offer
    requires a removed field, or if the name resembles the name of another lender.
    """
    require_lender_factor(by)
    provider = load_owned(provider_id, by.user)
    before, is_renamed = provider.lacks_for_notices, name != provider.name
    lacked = provider.lacks_for_eu_credit
    logos = [columns.pop("logo")] if "logo" in columns else []
    columns |= {"name": name, "address": address}
    for field, value in columns.items():
        setattr(provider, field, value)
    removed = [member for member in provider.lacks_for_notices if member not in before]
    if removed and _has_due_notices(provider):
        raise ValidationFailed.of_member(
            removed[0], "Must not be removed while applicants wait for a notice that must contain this value."
        )
    missing = [field for field in provider.lacks_for_eu_credit if field not in lacked]
    offers = Offer.objects.filter(provider=provider, is_active=True, jurisdiction=EU)
    if missing and offers.exclude(regime=NO_REGIME).exists():
        raise ValidationFailed.of_member(
            missing[0], f"Must not be removed while an active offer requires this value. {REQUIRED_BY_REGIME}"
        )
    with transaction.atomic():
        for logo in logos:
            _save_logo(provider, logo)
        if not is_renamed:
            provider.save(update_fields=[*columns])
            return provider
        try:
            save_named(provider, update_fields=[*columns, "name_key"])
        except NameTaken as error:
            raise _name_refusal() from error
    return provider


def change_logo(provider_id: str, logo: Logo | None, *, by: Actor) -> None:
    """Replace or remove the logo of a lender. Raises SecondFactorRequired, ProviderNotFound, and ProviderTaken."""
    require_lender_factor(by)
    with transaction.atomic():
        _save_logo(load_owned(provider_id, by.user), logo)


def _save_logo(provider: Provider, logo: Logo | None) -> None:
    if logo is None and provider.logo_sha256 is None:
        return
    ProviderLogo.set(provider, logo)
    provider.save(update_fields=["logo_sha256"])


def _name_refusal() -> ValidationFailed:
    return ValidationFailed.of_member("name", "Must not look like the name of another lender. Choose another name.")


def check_provider_names(**_options: Any) -> list[checks.CheckMessage]:
    """Report the lenders whose names resemble the name of another lender. Version 1.0 accepted similar names."""
    return check_keys(Provider.objects.all())


def _has_due_notices(provider: Provider) -> bool:
    """Return whether the lender must still send a notice, because a notice is due or a clock is running."""
    submitted = Application.objects.filter(sent_to(provider.pk, provider.created_at))
    notices = Notice.objects.filter(application__in=submitted, status=DUE)
    clocks = Clock.objects.filter(application__in=submitted, kind__in=Clock.TO_NOTIFY, stopped_at__isnull=True)
    return notices.exists() or clocks.exists()


def list_providers(user: Any, *, now: datetime) -> QuerySet[Provider]:
    """Return the lenders of which `user` is a member or an invitee, oldest first, with `membership`."""
    member = ProviderMember.objects.filter(user=user).values("provider")
    invited = _valid(now).filter(user=user).values("provider")
    membership = Case(When(pk__in=member, then=Value("member")), default=Value("invited"))
    providers = Provider.objects.filter(pk__in=member.union(invited)).annotate(membership=membership)
    return providers.order_by("created_at", "id")


def load_provider(provider_id: str, user: Any) -> Provider:
    """Return a lender of which `user` is a member. Raises ProviderNotFound."""
    return first_or(Provider.objects.filter(pk=queryable(provider_id), members=user), ProviderNotFound)


def members_of(provider: Provider) -> QuerySet[ProviderMember]:
    return ProviderMember.objects.filter(provider=provider).select_related("user", "provider").order_by("id")


def load_owned(provider_id: str, user: Any) -> Provider:
    """Return a lender of which `user` is an owner. Raises ProviderNotFound, or ProviderTaken for other members."""
    members = ProviderMember.objects.filter(provider=queryable(provider_id), user=user)
    member = first_or(members.select_related("provider"), ProviderNotFound)
    if member.role != ProviderMember.OWNER:
        raise ProviderTaken("This requires the lender's role owner.")
    return member.provider


def _valid(now: datetime) -> QuerySet[ProviderInvitation]:
    """Return the open invitations whose inviter has an active account, and is still an owner of the lender.

    An invitation of version 1.0 has no inviter, so it is open if an owner of the lender has an active account.
    """
    owners = ProviderMember.objects.filter(
        Q(user=OuterRef("invited_by")) | Q(IsNull(OuterRef("invited_by"), True)),
        provider=OuterRef("provider"), role=ProviderMember.OWNER, user__is_active=True,
    )  # fmt: skip
    return ProviderInvitation.objects.filter(Exists(owners), invited_at__gt=now - ProviderInvitation.VALID_FOR)


def invitations_of(provider: Provider, *, now: datetime) -> QuerySet[ProviderInvitation]:
    return _valid(now).filter(provider=provider).order_by("invited_at", "id")


def invite_member(provider_id: str, username: str, role: str, *, by: Actor, now: datetime) -> ProviderInvitation:
    """Invite an account by user name to become a member, and send an event to the lender's owner. Idempotent.

    For an unknown user name, the function does the same work and returns the same result. Raises SecondFactorRequired
    and ProviderNotFound. Raises ProviderTaken if `by` is not an owner, and ValidationFailed above INVITATIONS_MAX open
    invitations.
    """
    require_lender_factor(by)
    with transaction.atomic(savepoint=False):
        provider = load_owned(provider_id, by.user)
        # The lock makes the count exact.
        Provider.objects.select_for_update().get(pk=provider.pk)
        same_name = ProviderInvitation.objects.filter(provider=provider, username__iexact=username)
        same_name.exclude(username=username).delete()
        waiting = invitations_of(provider, now=now).exclude(username=username)
        if waiting.count() >= INVITATIONS_MAX:
            raise ValidationFailed(f"A lender can have at most {INVITATIONS_MAX} open invitations. Withdraw one first.")
        user = User.objects.named(username).filter(is_active=True).first()
        invitation, _ = ProviderInvitation.objects.update_or_create(
            provider=provider,
            username=username,
            defaults={"user": user, "role": role, "invited_by": by.user, "invited_at": now},
        )
        members = {"provider_id": provider.pk, "invitation_id": str(invitation.pk)}
        record_event("provider.member_invited", account_id=provider.owner_id, now=now, **members)
    return invitation


def withdraw_invitation(provider_id: str, invitation_id: str, *, by: Actor, now: datetime) -> None:
    """Withdraw an invitation.

    Raises SecondFactorRequired and ProviderNotFound. Raises ProviderTaken if `by` is not an owner of the lender, and
    NotFound if the invitation is no longer open.
    """
    require_lender_factor(by)
    provider = load_owned(provider_id, by.user)
    waiting = invitations_of(provider, now=now)
    get_by_uuid(waiting, invitation_id, NotFound("Invitation not found.")).delete()


def accept_invitation(provider_id: str, *, actor: Actor, now: datetime) -> ProviderMember:
    """Accept an invitation. The actor becomes a member with the invitation's role. Idempotent."""
    require_second_factor(actor)
    with transaction.atomic(savepoint=False):
        key = {"provider": queryable(provider_id), "user": actor.user}
        invitation = _valid(now).filter(**key).first()
        if invitation is not None and invitation.delete()[0]:
            ProviderMember.objects.get_or_create(
                provider_id=provider_id, user=actor.user, defaults={"role": invitation.role}
            )
        return first_or(ProviderMember.objects.filter(**key).select_related("user", "provider"), ProviderNotFound)


def change_member(provider_id: str, user_id: str, role: str, *, by: Actor) -> ProviderMember:
    """Change the role of a member. Raises the errors of `remove_member`."""
    member = _others_membership(provider_id, user_id, by)
    member.role = role
    member.save(update_fields=["role"])
    return member


def remove_member(provider_id: str, user_id: str, *, by: Actor) -> None:
    """Remove a member of a lender.

    Raises SecondFactorRequired and ProviderNotFound. Raises ProviderTaken if `by` is not an owner of the lender. Raises
    NotFound if the account is not a member, and ValidationFailed for the account that created the lender.
    """
    _others_membership(provider_id, user_id, by).delete()


def _others_membership(provider_id: str, user_id: str, by: Actor) -> ProviderMember:
    require_lender_factor(by)
    provider = load_owned(provider_id, by.user)
    if user_id == str(provider.owner_id):
        raise ValidationFailed("The account that created the lender must remain an owner.")
    member = next((member for member in members_of(provider) if str(member.user_id) == user_id), None)
    if member is None:
        raise NotFound("The account is not a member of the lender.")
    return member


def inbox(provider_id: str, actor: Actor) -> QuerySet[Application]:
    """Return the applications that were submitted to a lender after the lender's creation, oldest first."""
    provider = load_read(provider_id, actor)
    return Application.objects.filter(sent_to(provider.pk, provider.created_at)).order_by("submitted_at", "id")


def load_read(provider_id: str, actor: Actor) -> Provider:
    """Return a lender whose applications and members `actor` can read. Raises the errors of `inbox`."""
    provider = load_provider(provider_id, actor.user)
    require_lender_factor(actor)
    return provider


def sent_to(provider_id: str, since: datetime, *, to_application: str = "", with_erased: bool = False) -> Q:
    """Return the condition for applications that were submitted to a lender after the lender's creation.

    `to_application` is the lookup path from another model, such as `application__`. Applications of erased accounts are
    stored only for retention. The condition includes them only if `with_erased` is True.
    """
    number = number_of(provider_id)
    if number is None:
        return Q(pk__in=())
    named = {"provider_id": number, "created_at__gte": since, "submitted_at__isnull": False}
    if not with_erased:
        named["consumer__erased_at__isnull"] = True
    return Q(**{f"{to_application}{name}": value for name, value in named.items()})


def note_inbox(viewer: Any, query: dict[str, str], *, rows: int) -> None:
    """Log the access to a page of an inbox. Empty pages are not logged."""
    if rows:
        kind, details = Application._meta.label_lower, {**query, "rows": rows}
        side = "" if viewer.is_staff else query["provider_id"]
        now = timezone.now()
        DataAccess.note(DataAccess.LIST, viewer=viewer, kind=kind, provider=side, details=details, now=now)


def number_of(provider_id: str) -> int | None:
    """Convert a lender's ID to the integer that applications store, or return None if the ID is not an integer."""
    if not provider_id.removeprefix("-").isdecimal() or len(provider_id) > len(str(INT64_MIN)):
        return None
    number = int(provider_id)
    return number if str(number) == provider_id and INT64_MIN <= number <= INT64_MAX else None


def delegation_refusal(user_id: int) -> str:
    """Return why partners get no token for this account, or "".

    Members of a lender can read other people's data, so partners get no token for them.
    """
    return "The account is a member of a lender." if ProviderMember.objects.filter(user_id=user_id).exists() else ""


def _over(now: datetime) -> QuerySet[ProviderInvitation]:
    return ProviderInvitation.objects.filter(invited_at__lte=now - ProviderInvitation.VALID_FOR)


ENDED_INVITATIONS = ("provider_invitations", _over)
