"""Endpoints of an application's documents: each translates, none decides."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from config.api.credentials import FIRST_PARTY
from config.api.uploads import FileParser
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.backoffice.models import DataAccess
from config.core.errors import NotFound
from config.core.lifecycle import ReviewerRequired, SecondFactorRequired, actor_of
from credit import serializers
from credit.applications import load_for
from credit.document_models import CONTENT_TYPES, DocumentFile
from credit.document_requests import ask_for_documents
from credit.document_storage import read
from credit.documents import Received, add_file, documents_of, load_document, load_file, receive_file
from credit.errors import (
    ApplicationNotFound,
    DocumentClosed,
    InfectedFile,
    InvalidApplicationTransition,
    RecordNotEditable,
)
from credit.models import Application

_BYTES = "application/octet-stream"
# Whatever is in the file, a browser that shows it runs none of it, and asks nobody for anything.
FILE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
}


def note_reading(request: ApiRequest, application: Application, details: dict[str, str]) -> None:
    """Enter in the access log of personal data that the caller read another person's."""
    if application.consumer_id != request.user.pk:
        DataAccess.note(
            DataAccess.PAGE,
            viewer=request.user,
            kind=application._meta.label_lower,
            record_id=str(application.pk),
            subject_id=application.consumer_id,
            details=details,
            now=timezone.now(),
        )


def accessed(file: DocumentFile) -> dict[str, str]:
    return {"file": str(file.pk), "sha256": file.sha256}


def answer_with(file: DocumentFile, *, as_attachment: bool) -> HttpResponse:
    """Return a file's content, to save or to look at; raises what `document_storage.read` raises."""
    disposition = content_disposition_header(as_attachment, file.download_name) or "inline"
    headers = {**FILE_HEADERS, "Content-Disposition": disposition}
    return HttpResponse(read(file), content_type=file.content_type, headers=headers)


def _receive(_view: Any, request: ApiRequest, application_id: str, document_id: str, body: dict[str, Any]) -> Received:
    return receive_file(application_id, document_id, body["file"], actor=actor_of(request), now=timezone.now())


def _checklist(application: Application) -> dict[str, Any]:
    documents = [serializers.RequestedDocumentAnswer.represent(document) for document in documents_of(application)]
    return {"documents": documents, "total": len(documents)}


class DocumentViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(access="applications:read", answer=serializers.DocumentsAnswer, errors=(ApplicationNotFound,))
    def page(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """List the documents that reviewers asked for, each with the files that were handed in."""
        return _checklist(load_for(application_id, actor_of(request)))

    @endpoint(
        access=FIRST_PARTY,
        body=serializers.DocumentRequestBody,
        answer=serializers.DocumentsAnswer,
        status=201,
        idempotent=True,
        errors=(ApplicationNotFound, InvalidApplicationTransition, ReviewerRequired, SecondFactorRequired),
    )
    def ask(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the consumer for documents, as a reviewer.

        The application moves to `pending_documents`. One that is there already stays, and its checklist grows; a
        document that is on it is asked for again.
        """
        return _checklist(ask_for_documents(application_id, actor=actor_of(request), now=timezone.now(), **body))

    @endpoint(
        access="applications:read", answer=serializers.DocumentFilesAnswer, errors=(ApplicationNotFound, NotFound)
    )
    def files(self, request: ApiRequest, application_id: str, document_id: str) -> dict[str, Any]:
        """List the files that were handed in for a document, oldest first."""
        document = load_document(application_id, document_id, actor_of(request))
        found = [serializers.DocumentFileAnswer.represent(file) for file in document.kept_files]
        return {"files": found, "total": len(found)}

    @endpoint(
        access="applications:write",
        body=serializers.DocumentFileBody,
        parser=FileParser,
        body_max_bytes=settings.FILE_UPLOAD_MAX_BYTES,
        answer=serializers.DocumentFileAnswer,
        status=201,
        idempotent=True,
        ahead=_receive,
        limit="upload",
        errors=(ApplicationNotFound, NotFound, RecordNotEditable, DocumentClosed, InfectedFile),
    )
    def add_file(
        self, request: ApiRequest, application_id: str, document_id: str, body: dict[str, Any], fetched: Received
    ) -> DocumentFile:
        """Hand in a file for a document, as the consumer: a PDF, JPEG or PNG of at most 10 MiB.

        What it is, is told by its content. A document takes ten files each time that it is asked for, until it is
        accepted or the application is decided. A file never changes, and is not taken back.
        """
        del body  # read already: `fetched` is what became of it
        return add_file(application_id, document_id, fetched, actor=actor_of(request), now=timezone.now())

    @endpoint(access="applications:read", media_types=(*CONTENT_TYPES, _BYTES), errors=(ApplicationNotFound, NotFound))
    def file(self, request: ApiRequest, application_id: str, document_id: str, file_id: str) -> HttpResponse:
        """Return a file's content, to be saved; as bytes of no type for who accepts nothing else.

        Whoever reads another person's is entered in the access log of personal data.
        """
        file = load_file(application_id, document_id, file_id, actor_of(request))
        response = answer_with(file, as_attachment=True)
        if request.accepted_media_type == _BYTES:
            response.headers["Content-Type"] = _BYTES
        note_reading(request, file.document.application, accessed(file))
        return response
