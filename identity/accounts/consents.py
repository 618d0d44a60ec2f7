"""Functions that end the consents of an account."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef

from config.core.errors import NotFound
from config.core.ids import get_by_uuid
from config.core.lifecycle import Actor
from config.core.registration import declared
from config.webhooks.endpoints import disable_each
from config.webhooks.models import BY_OWNER
from identity.access.authentication import forget_credentials
from identity.access.consents import APP, Consent, ConsentQuerySet
from identity.access.models import AccountHistory, TokenFamily


def consents_of(user: Any) -> ConsentQuerySet:
    return Consent.objects.filter(account=user.pk).named().order_by("-id")


def end_consent(actor: Actor, consent_id: str, *, now: datetime) -> None:
    """End a consent of the actor, including its effects. Idempotent. Raises NotFound."""
    with transaction.atomic():
        own = consents_of(actor.user).select_for_update()
        consent = get_by_uuid(own, consent_id, NotFound("Consent not found."))
        if consent.ended_at is not None:
            return
        for kind, end in declared("consent_endings"):
            if kind == consent.kind:
                end(consent, actor=actor, now=now)
        Consent.objects.filter(pk=consent.pk).end(now=now)
        _note_end(consent, actor, now)
    forget_credentials()


def end_app_access(user: Any, client: Any, *, now: datetime) -> None:
    """End all access that an account granted to an app, including the webhooks that the app created for the account."""
    TokenFamily.objects.filter(user=user, client=client).revoke(now=now)
    disable_each(BY_OWNER, client_id=client.client_id, account_id=user.pk, now=now)


def end_consents_to_app(actor: Actor, client: Any, *, now: datetime) -> None:
    """End all consents of the actor to an app, including their effects. Idempotent."""
    with transaction.atomic():
        families = TokenFamily.objects.filter(user=actor.user, client=client)
        ended = list(Consent.objects.active().filter(kind=APP, reference__in=families.values("pk")))
        end_app_access(actor.user, client, now=now)
        for consent in ended:
            _note_end(consent, actor, now)
    forget_credentials()


def _note_end(consent: Consent, actor: Actor, now: datetime) -> None:
    AccountHistory.note("consent.ended", actor, now=now, object_id=consent.pk, details={"kind": consent.kind})


def _end_app(consent: Consent, *, actor: Actor, now: datetime) -> None:
    family = TokenFamily.objects.select_related("client").filter(pk=consent.reference).first()
    if family is not None:
        end_app_access(actor.user, family.client, now=now)


def end_unused_apps(*, now: datetime) -> dict[str, int]:
    """End the consents of apps whose tokens have all expired, or were revoked by a change of the password."""
    live = TokenFamily.objects.filter(
        pk=OuterRef("reference"), revoked_at__isnull=True, created_at__gte=F("user__credentials_changed_at")
    )
    return {"unused_apps": Consent.objects.filter(~Exists(live), kind=APP).end(now=now)}


ENDING = (APP, _end_app)
