"""What other rooms know about an application's person: identity, bank links, deliveries of the application's events.

Each source is one query over what an index of the person gives.
"""

from typing import Any

from django.urls import reverse

from config.desk import timeline
from config.desk.timeline import ENTRIES_MAX, TimelineEntry
from config.webhooks.models import Delivery
from credit.models import Application
from identity.bank.models import BankItem
from identity.kyc.models import KycVerification

KIND = "credit.application"


def identity_checks(application: Application) -> list[TimelineEntry]:
    """Return the person's identity verifications, finished ones when they were finished."""
    found = KycVerification.objects.filter(user_id=application.consumer_id).order_by("-id")
    return [
        TimelineEntry(
            at=verification.completed_at or verification.created_at,
            title=f"Identity verification, attempt {verification.attempt}",
            status=verification.status,
            facts=(("at", verification.provider),),
            address=reverse("admin:identity_kycverification_change", args=[verification.pk]),
        )
        for verification in found[:ENTRIES_MAX]
    ]


def bank_links(application: Application) -> list[TimelineEntry]:
    """Return the banks that the person linked, without their tokens."""
    found = BankItem.objects.filter(user_id=application.consumer_id).defer("access_token").order_by("-id")
    return [
        TimelineEntry(at=item.linked_at, title="Bank linked", facts=(("at", item.provider),))
        for item in found[:ENTRIES_MAX]
    ]


def deliveries(application: Application) -> list[TimelineEntry]:
    """Return what became of telling the person's systems about this application."""
    found = Delivery.objects.filter(
        account_id=application.consumer_id,
        created_at__gte=application.created_at,
        event_type__startswith="application.",
    ).select_related("event")
    entries = []
    for delivery in found.order_by("-id")[:ENTRIES_MAX]:
        about: dict[str, Any] = delivery.event.object or {}
        if about.get("application_id") == str(application.pk):
            tries = len(delivery.attempts)
            entries.append(
                TimelineEntry(
                    at=delivery.created_at,
                    title=f"Webhook {delivery.event_type}",
                    status=delivery.status,
                    facts=(("attempts", str(tries)),),
                )
            )
    return entries


for source in (identity_checks, bank_links, deliveries):
    timeline.register(KIND, source)
