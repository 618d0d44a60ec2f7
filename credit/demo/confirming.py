"""Accept documents of demo applications, and compute scores with the confirmed figures."""

from datetime import datetime

from config.core.json_text import canonical_json
from config.core.lifecycle import Actor
from credit.documents.requests import mark_document
from credit.models import Application, Confirmation, DocumentFile, RequestedDocument
from credit.scoring.facts_of import assess, champion_of

_FIGURES = ("monthly_income_cents", "months_employed", "months_at_address", "home", "credit_lines", "missed_payments")


def accept_documents(application: Application, *, by: Actor, now: datetime) -> Application:
    """Accept an application's documents.

    If a model scored the application, confirm the application's values, and compute another score.
    """
    for document in application.requested_documents.all():
        mark_document(application, document.pk, RequestedDocument.ACCEPTED, by=by.user, now=now)
    if (champion := champion_of(application)) is None:
        return application
    file = DocumentFile.objects.filter(document__application=application).earliest("pk")
    for name in _FIGURES:
        value = canonical_json(application.application_data[name]).decode()
        Confirmation.objects.create(
            application=application, pointer=f"/{name}", value=value, file=file, confirmed_by=by.user, confirmed_at=now
        )
    assess(application, champion, now=now)
    return Application.objects.get(pk=application.pk)
