"""Mail to the person whom an application waits for, or about whom it was decided: a link, and nothing about it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model

from config.mail.outbox import queue_mail
from credit.applications.machine import APPROVED, PENDING_DOCUMENTS, REJECTED

# The events after which the person has something to do or to read.
_CONCERN = frozenset({PENDING_DOCUMENTS, APPROVED, REJECTED, "counteroffered"})


def mail_person(verb: str, application_id: UUID, consumer_id: Any, *, now: datetime) -> None:
    """Write to the person's confirmed address about an event that concerns them, unless they want no mail."""
    if verb not in _CONCERN:
        return
    people = get_user_model().objects.filter(pk=consumer_id, is_active=True, wants_mail=True)
    confirmed = people.filter(emailaddress__primary=True, emailaddress__verified=True)
    address = confirmed.values_list("emailaddress__email", flat=True).first()
    if address is not None:
        queue_mail(address, "application", {"link": f"{settings.APP_URL}/my/applications/{application_id}"}, now=now)
