"""Request documents for an application, and mark the documents on its checklist as received or accepted."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction

from config.core.errors import NotFound, ValidationFailed
from config.core.lifecycle import Actor
from config.core.names import skeleton
from credit.applications.services import load_for
from credit.core.machine import PENDING_DOCUMENTS
from credit.models import Application, RequestedDocument
from credit.models.applications import record_application_event
from credit.models.documents import DOCUMENTS_MAX

REASON_MAX_LENGTH = 1_000


def request_documents(
    application: Application, names: Iterable[str], *, by: Any, now: datetime, language: str | None = None
) -> None:
    """Add documents to the checklist. A document whose title is equal or similar to a listed title is requested again.

    `language` is the language of the titles, or None for the language of the offer.

    Requires a transaction that has locked the application. Raises ValidationFailed if the checklist would exceed
    DOCUMENTS_MAX documents.
    """
    columns = {
        "status": RequestedDocument.REQUESTED, "reason": "", "reason_language": None, "language": language,
        "requested_at": now, "received_at": None, "accepted_at": None,
    }  # fmt: skip
    listed = {skeleton(name): name for name in application.requested_documents.values_list("name", flat=True)}
    for name in dict.fromkeys(listed.setdefault(skeleton(name), name) for name in names):
        RequestedDocument.objects.update_or_create(
            application=application, name=name, defaults={**columns, "changed_by": by}
        )
    if application.requested_documents.count() > DOCUMENTS_MAX:
        raise ValidationFailed(f"names: An application has at most {DOCUMENTS_MAX} documents.")


def move_to_pending_documents(
    application_id: str, names: list[str], *, actor: Actor, reason: str | None, now: datetime
) -> Application:
    """Move an application to `pending_documents`, add documents to its checklist, and return the application.

    If the application already has the status `pending_documents`, reviewers can still add documents. Raises
    ApplicationNotFound, the errors of the transition, ReviewerRequired, and SecondFactorRequired.
    """
    visible = load_for(application_id, actor)
    # The lock prevents a decision between the status check and the change of the checklist.
    application = Application.objects.select_for_update().get(pk=visible.pk)
    waits_already = application.status == PENDING_DOCUMENTS
    if not waits_already:
        metadata = {"documents": names}
        application.transition_to(PENDING_DOCUMENTS, actor=actor, now=now, reason=reason, metadata=metadata)
    elif refusal := application.check_reviewer(actor):
        raise refusal
    request_documents(application, names, by=actor.user, now=now)
    if waits_already:
        record_application_event("updated", application, now=now)
    return application


def mark_document(
    application: Application,
    document_id: Any,
    status: str,
    *,
    by: Any,
    now: datetime,
    reason: str = "",
    language: str | None = None,
) -> RequestedDocument:
    """Mark a document as received or accepted, or request it again with an optional `reason` in `language`.

    Raises NotFound if the document is not on the checklist, and ValidationFailed if the reason has more than
    REASON_MAX_LENGTH characters.
    """
    if len(reason) > REASON_MAX_LENGTH or "\0" in reason:
        raise ValidationFailed(f"The reason must have at most {REASON_MAX_LENGTH} characters.")
    with transaction.atomic():
        document = RequestedDocument.objects.select_for_update().filter(application=application, pk=document_id).first()
        if document is None or status not in RequestedDocument.STATUSES:
            raise NotFound("Document not found on the checklist.")
        document.status, document.changed_by = status, by
        if status == RequestedDocument.REQUESTED:
            document.requested_at, document.received_at, document.accepted_at = now, None, None
            document.reason, document.reason_language = reason, language
        elif status == RequestedDocument.RECEIVED:
            document.received_at = now
        else:
            # An accepted document is also marked as received.
            document.received_at, document.accepted_at = document.received_at or now, now
        document.save(
            update_fields=[
                "status",
                "reason",
                "reason_language",
                "changed_by",
                "requested_at",
                "received_at",
                "accepted_at",
            ]
        )
        record_application_event("updated", application, now=now)
    return document
