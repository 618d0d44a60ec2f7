"""The section about the requested documents on the application page."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from credit.applications.services import IDLE_DAYS
from credit.core import deadlines
from credit.core import machine as states
from credit.core.translations import document_title, free_text
from credit.documents.services import documents_of
from credit.models import Application, RequestedDocument
from credit.my.content import terms_of


def describe(application: Application) -> dict[str, Any]:
    """Return the template context of the section. Missing documents are first.

    `due_by` is when the application expires, or empty if it can't expire.
    """
    zone, uploads = timezone.get_current_timezone_name(), application.status not in states.FROZEN
    documents: list[Any] = sorted(
        documents_of(application), key=lambda document: document.status != RequestedDocument.REQUESTED
    )
    terms = terms_of(application)
    for document in documents:
        document.title = document_title(terms, document.name, document.language)
        document.why = free_text(document.reason, terms, {"language": document.reason_language})
    missing = sum(document.status == RequestedDocument.REQUESTED for document in documents)
    days = IDLE_DAYS.get(application.status) if uploads else None
    due_by = "" if days is None else deadlines.in_words(application.updated_at + timedelta(days=days), zone)
    return {
        "documents": [
            (document, [(file, deadlines.in_words(file.received_at, zone)) for file in document.kept_files])
            for document in documents
        ],
        "missing": missing,
        "received": len(documents) - missing,
        "due_by": due_by,
        "uploads": uploads,
    }
