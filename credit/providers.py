"""Providers: who acts for one, and the applications that were sent to it."""

from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from config.core.errors import NotFound, ValidationFailed
from config.core.ids import INT64_MAX, INT64_MIN
from credit.errors import ProviderNotFound, ProviderTaken
from credit.models import Application, Provider, ProviderMember


def claim_provider(provider_id: str, user: Any, now: datetime) -> Provider:
    """Return the provider, which becomes `user`'s where nobody has used the id; raises ProviderTaken for a stranger's.

    Call it in a transaction.
    """
    provider, is_new = Provider.objects.get_or_create(id=provider_id, defaults={"owner": user, "created_at": now})
    if is_new:
        ProviderMember.objects.create(provider=provider, user=user)
    elif provider.owner_id != user.pk and not provider.members.filter(pk=user.pk).exists():
        raise ProviderTaken
    return provider


def list_providers(user: Any) -> QuerySet[Provider]:
    """Select the providers that `user` acts for, the first one first."""
    return Provider.objects.filter(members=user).order_by("created_at", "id")


def load_provider(provider_id: str, user: Any) -> Provider:
    """Return a provider that `user` acts for; raises ProviderNotFound."""
    provider = Provider.objects.filter(pk=provider_id, members=user).first()
    if provider is None:
        raise ProviderNotFound
    return provider


def members_of(provider: Provider) -> QuerySet[ProviderMember]:
    """Select the members, in the order in which they were added."""
    return ProviderMember.objects.filter(provider=provider).select_related("user", "provider").order_by("id")


def _load_owned(provider_id: str, user: Any) -> Provider:
    provider = load_provider(provider_id, user)
    if provider.owner_id != user.pk:
        raise ProviderTaken("Only the provider's owner decides who acts for it.")
    return provider


def add_member(provider_id: str, username: str, *, by: Any) -> ProviderMember:
    """Let an account act for a provider; again is no error.

    Raises ProviderNotFound, ProviderTaken unless `by` owns it, ValidationFailed for an account that does not exist.
    """
    provider = _load_owned(provider_id, by)
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise ValidationFailed.of_member("username", "There is no account of that name.")
    return ProviderMember.objects.get_or_create(provider=provider, user=user)[0]


def remove_member(provider_id: str, user_id: str, *, by: Any) -> None:
    """Let an account no longer act for a provider.

    Raises ProviderNotFound, ProviderTaken unless `by` owns it, NotFound for who is no member, ValidationFailed for the
    owner.
    """
    provider = _load_owned(provider_id, by)
    if user_id == str(provider.owner_id):
        raise ValidationFailed("The owner of a provider stays a member of it.")
    member = next((one for one in members_of(provider) if str(one.user_id) == user_id), None)
    if member is None:
        raise NotFound("That account is no member of the provider.")
    member.delete()


def inbox(provider: Provider) -> QuerySet[Application]:
    """Select what was submitted to a provider since there is one, oldest first."""
    number = _number_of(provider.pk)
    if number is None:  # applications name providers by number
        return Application.objects.none()
    found = Application.objects.filter(
        provider_id=number, submitted_at__isnull=False, created_at__gte=provider.created_at
    )
    return found.order_by("submitted_at", "id")


def _number_of(provider_id: str) -> int | None:
    """Return the number by which applications name a provider, None for an id that spells none."""
    if not provider_id.removeprefix("-").isdecimal() or len(provider_id) > len(str(INT64_MIN)):
        return None
    number = int(provider_id)
    return number if str(number) == provider_id and INT64_MIN <= number <= INT64_MAX else None
