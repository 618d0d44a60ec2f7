"""The document checklist on an application's page, where reviewers open, accept, or request files again."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Prefetch, prefetch_related_objects
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html_join

from config.backoffice.bases import ReviewAdmin
from config.backoffice.consoles import console_of
from config.backoffice.html import chip
from config.backoffice.people import person_name
from config.backoffice.personal import mask
from config.backoffice.records import within_list
from config.backoffice.timeline import TimelineEntry
from config.core.casework import DataAccess
from config.core.errors import ApiError, ValidationFailed
from credit.api.documents.views import accessed, answer_with
from credit.console.forms import hint_of, language_choices, languages_between
from credit.core.applicants import LANGUAGES
from credit.documents.requests import mark_document
from credit.models import Application, RequestedDocument
from credit.models.documents import DocumentFile


class Checklist(ReviewAdmin):
    def get_urls(self) -> list[Any]:
        return [
            self.review_path("documents/<uuid:document_id>/", self.document_view, "document"),
            self.record_path("documents/files/<uuid:file_id>/", self.file_view, "file"),
            *super().get_urls(),
        ]

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        documents = [
            {
                "row": row,
                "reason": row.reason,
                "address": within_list(self.address_of("document", record.pk, row.pk), request),
                "files": [
                    {"file": file, "address": self.address_of("file", record.pk, file.pk)} for file in row.kept_files
                ],
            }
            for row in checklist_of(record)
        ]
        opens_files = self.may_open_files(request, record)
        between = languages_between(record)
        return {
            **super().page_of(request, record),
            "documents": documents,
            "opens_files": opens_files,
            "language_hint": hint_of(between),
            "language_choices": language_choices(),
            "writes": between["writes"],
        }

    def may_open_files(self, request: HttpRequest, record: Any) -> bool:
        """Return whether the viewer can open files, as a reviewer or as a member of the lender.

        Files of an erased account also require an unmasked page.
        """
        if self.is_erased(request, record):
            return not self.is_masked_for(request, record)
        return console_of(request.user) is not None or self.may_review(request, record)

    def document_rows(self, request: HttpRequest, record: Any) -> list[dict[str, Any]]:
        """Return a row for the page of a decision, with the requested documents and links to their files."""
        opens_files = self.may_open_files(request, record)
        lines = []
        for document in checklist_of(record):
            files = document.kept_files if opens_files else []
            addresses = ((self.address_of("file", record.pk, file.pk), file.name) for file in files)
            links = format_html_join("", ' <a href="{}" target="_blank" rel="noopener">Open {}</a>', addresses)
            lines.append((document.name, chip(document.status), links))
        value = format_html_join("", "<div>{} {}{}</div>", lines)
        return [{"name": "Documents", "value": value}] if lines else []

    def document_view(self, request: HttpRequest, record: Application, document_id: UUID) -> HttpResponse:
        """Set the status of a document (POST).

        To mark a document as received on paper, the reviewer enters a reason, which is stored as a note.
        """
        if request.method == "POST":
            status, reason = request.POST.get("status", ""), request.POST.get("reason", "").strip()
            chosen = request.POST.get("language", "")
            language = chosen if chosen in LANGUAGES else None
            try:
                with transaction.atomic():
                    _check_evidence(record, document_id, status, reason)
                    marked = mark_document(
                        record,
                        document_id,
                        status,
                        by=request.user,
                        now=timezone.now(),
                        reason=reason,
                        language=language,
                    )
                    if status == RequestedDocument.RECEIVED:
                        self.add_note(request, record, f"“{marked.name}” received on paper: {reason}")
            except ApiError as refusal:
                messages.error(request, str(refusal))
            else:
                outcome = "received on paper" if status == RequestedDocument.RECEIVED else marked.status
                self.log_change(request, record, f"Document “{marked.name}”: {outcome}.")
                messages.success(request, f"“{marked.name}” is {outcome}.")
        return HttpResponseRedirect(self.record_address(record, request))

    def file_view(self, request: HttpRequest, record: Application, file_id: UUID) -> HttpResponse:
        """Display an image of normal size, or send any other file as a download. The access is logged."""
        if not self.may_open_files(request, record):
            raise PermissionDenied
        files = DocumentFile.objects.filter(document__application=record, infection="").select_related("stored")
        file = files.filter(pk=file_id).first()
        if file is None:
            messages.warning(request, "File not found.")
        else:
            try:
                response = answer_with(file, as_attachment=False)
            except ApiError as refusal:
                messages.error(request, str(refusal))
            else:
                self.note(request, DataAccess.PAGE, record, details=accessed(file))
                return response
        return HttpResponseRedirect(self.record_address(record, request))


def _check_evidence(record: Application, document_id: UUID, status: str, reason: str) -> None:
    """Raise ValidationFailed if an accepted document has no file, or a document on paper has no reason."""
    if status == RequestedDocument.RECEIVED and not reason:
        raise ValidationFailed("Enter how you received the document on paper.")
    document = record.requested_documents.filter(pk=document_id).first()
    if status != RequestedDocument.ACCEPTED or document is None or document.status != RequestedDocument.REQUESTED:
        return
    if not document.kept_files:
        raise ValidationFailed(f"“{document.name}” has no file. You can accept it after an upload, or on paper.")


def checklist_of(record: Any) -> list[RequestedDocument]:
    """Return the checklist with files and uploaders, cached on `record`. If the record is masked, mask the texts."""
    files = Prefetch("requested_documents__files", DocumentFile.objects.select_related("principal"))
    prefetch_related_objects([record], "requested_documents", files)
    documents = list(record.requested_documents.all())
    if getattr(record, "is_masked", False):
        for document in documents:
            document.reason = mask(document.reason)
            if record.is_of_erased:
                document.name = mask(document.name)
    return documents


def missing_documents(record: Any) -> list[str]:
    """Return the names of the requested documents without an accepted or received file."""
    return [row.name for row in checklist_of(record) if row.status == RequestedDocument.REQUESTED]


def file_entries(record: Application) -> Iterator[TimelineEntry]:
    for file in [file for document in checklist_of(record) for file in document.files.all()]:
        infection = (("found", file.infection),) if file.infection else ()
        yield TimelineEntry(
            at=file.received_at,
            title="Infected file rejected" if infection else "File uploaded",
            id=str(file.pk),
            actor=person_name(file.principal),
            credential=file.credential,
            facts=(("for", file.document.name), ("SHA-256", file.sha256), *infection),
        )
