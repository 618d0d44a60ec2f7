from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from rest_framework.decorators import parser_classes, renderer_classes

from config.api.idempotency import Outcome, ReservableKey, run_once
from config.api.renderers import renderer_for
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY
from config.core.errors import NotFound
from config.core.json_text import render_json
from config.core.lifecycle import RecordNotEditable, actor_of
from credit.api.documents import serializers
from credit.api.documents.parsers import FileParser
from credit.applications.services import load_for, note_reading
from credit.core import errors
from credit.documents.kinds import may_be_shown
from credit.documents.requests import move_to_pending_documents
from credit.documents.services import add_file, documents_of, load_document, load_file, receive_file
from credit.documents.storage import read
from credit.models import Application
from credit.models.documents import CONTENT_TYPES, DocumentFile

_BYTES = "application/octet-stream"
# These headers forbid scripts and requests in a displayed file.
FILE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
}


def accessed(file: DocumentFile) -> dict[str, str]:
    return {"file": str(file.pk), "sha256": file.sha256}


def answer_with(file: DocumentFile, *, as_attachment: bool) -> HttpResponse:
    """Return a file's content as a download, or inline if it is an image of normal size.

    Raises the errors of `storage.read`.
    """
    content = read(file)
    as_attachment = as_attachment or not may_be_shown(content)
    disposition = content_disposition_header(as_attachment, file.download_name) or "inline"
    headers = {**FILE_HEADERS, "Content-Disposition": disposition}
    return HttpResponse(content, content_type=file.content_type, headers=headers)


def _checklist(application: Application) -> dict[str, Any]:
    documents = list(documents_of(application))
    return {"documents": documents, "total": len(documents)}


class DocumentViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(access="applications:read", answer=serializers.DocumentsPageSerializer, errors=errors.READ_ERRORS)
    def list(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """List the documents on an application's checklist.

        The response contains the files of each document.
        """
        return _checklist(load_for(application_id, actor_of(request)))

    @endpoint(
        access=FIRST_PARTY,
        body=serializers.DocumentRequestRequestSerializer,
        answer=serializers.DocumentsPageSerializer,
        status=201,
        idempotent=True,
        errors=errors.DECIDING_ERRORS,
    )
    def ask(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Request documents.

        Requires a reviewer. The application must be `submitted`, `under_review`, or `pending_documents`. The status
        becomes `pending_documents`. A document that is already on the checklist is requested again.
        """
        return _checklist(
            move_to_pending_documents(application_id, actor=actor_of(request), now=timezone.now(), **body)
        )

    @endpoint(
        access="applications:read", answer=serializers.DocumentFilesSerializer, errors=(*errors.READ_ERRORS, NotFound)
    )
    def files(self, request: ApiRequest, application_id: str, document_id: str) -> dict[str, Any]:
        """List the files of a document.

        The oldest file is first.
        """
        files = load_document(application_id, document_id, actor_of(request)).kept_files
        return {"files": files, "total": len(files)}

    @parser_classes([FileParser])
    @endpoint(
        access="applications:write",
        body=serializers.DocumentFileRequestSerializer,
        answer=serializers.DocumentFileSerializer,
        status=201,
        idempotent=True,
        reserves_key=True,
        limit="upload",
        errors=(
            errors.ApplicationNotFound, NotFound, RecordNotEditable, errors.DocumentClosed, errors.StorageQuotaExceeded,
            errors.InfectedFile,
        ),
    )  # fmt: skip
    def add_file(
        self,
        request: ApiRequest,
        application_id: str,
        document_id: str,
        body: dict[str, Any],
        key: ReservableKey | None,
    ) -> Outcome:
        """Upload a file for a document.

        Only the applicant can upload. A file is a PDF, JPEG, or PNG of at most 10 MiB.

        The API detects the type from the content. After each request for a document, the document accepts ten files.
        Once a reviewer has accepted the document, the API rejects more files for this document. Once the application is
        decided, withdrawn, or expired, no document accepts files. Files can't be changed or withdrawn.
        """
        stored = None if key is None else key.stored()
        if stored is not None:
            return stored
        actor = actor_of(request)
        received = receive_file(application_id, document_id, body["file"], actor=actor, now=timezone.now())

        def work() -> Outcome:
            file = add_file(application_id, document_id, received, actor=actor, now=timezone.now())
            return Outcome(201, render_json(serializers.DocumentFileSerializer(file).data))

        return run_once(key, work)

    @renderer_classes([renderer_for(media_type) for media_type in (*CONTENT_TYPES, _BYTES)])
    @endpoint(access="applications:read", errors=(*errors.READ_ERRORS, NotFound))
    def file(self, request: ApiRequest, application_id: str, document_id: str, file_id: str) -> HttpResponse:
        """Download a file.

        The response has the content type of the file. If `Accept` prefers `application/octet-stream`, the response has
        this type instead.

        If you download another person's file, the access log of personal data records the download.
        """
        file = load_file(application_id, document_id, file_id, actor_of(request))
        response = answer_with(file, as_attachment=True)
        if request.accepted_media_type == _BYTES:
            response.headers["Content-Type"] = _BYTES
        note_reading(file.document.application, request.user, **accessed(file))
        return response
