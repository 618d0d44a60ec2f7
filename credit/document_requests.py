"""The checklist of an application that waits for documents: asked for, received, accepted."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction

from config.core.errors import NotFound
from credit.models import Application, RequestedDocument, record_application_event

DOCUMENTS_MAX = 30  # of one application
NAME_MAX_LENGTH = 255

_COLUMN_OF = {RequestedDocument.RECEIVED: "received_at", RequestedDocument.ACCEPTED: "accepted_at"}


def request_documents(application: Application, names: Iterable[str], *, by: Any, now: datetime) -> None:
    """Put documents on the checklist; one that is on it already is asked for again. Call it in a transaction."""
    asked = {"status": RequestedDocument.REQUESTED, "requested_at": now, "received_at": None, "accepted_at": None}
    for name in dict.fromkeys(names):
        RequestedDocument.objects.update_or_create(
            application=application, name=name, defaults={**asked, "changed_by": by}
        )


def mark_document(
    application: Application, document_id: Any, status: str, *, by: Any, now: datetime
) -> RequestedDocument:
    """Say that a document was received or accepted, or ask for it again; raises NotFound for one not asked for."""
    with transaction.atomic():
        document = RequestedDocument.objects.select_for_update().filter(application=application, pk=document_id).first()
        if document is None or status not in RequestedDocument.STATUSES:
            raise NotFound("There is no such document on the checklist.")
        document.status, document.changed_by = status, by
        if status == RequestedDocument.REQUESTED:
            document.requested_at, document.received_at, document.accepted_at = now, None, None
        else:
            setattr(document, _COLUMN_OF[status], now)
            if document.received_at is None:
                document.received_at = now  # what is accepted has been received
        document.save(update_fields=["status", "changed_by", "requested_at", "received_at", "accepted_at"])
        record_application_event("updated", application, now=now)
    return document
