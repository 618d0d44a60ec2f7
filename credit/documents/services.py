import logging
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q, QuerySet, Sum

from config.core.errors import NotFound, Unavailable
from config.core.ids import get_by_uuid
from config.core.lifecycle import Actor, RecordNotEditable
from credit.applications.services import load_for
from credit.core.errors import ApplicationNotFound, DocumentClosed, InfectedFile, StorageQuotaExceeded
from credit.core.machine import DRAFT, FROZEN
from credit.documents.kinds import recognize
from credit.documents.scanning import find_infection
from credit.documents.storage import store_file
from credit.models import Application, RequestedDocument
from credit.models.applications import record_application_event
from credit.models.documents import DocumentFile, StoredFile
from identity.models import User

logger = logging.getLogger("platform.documents")

FILES_MAX = 10  # the maximum number of files of a document since its last request
_MIB = 1 << 20
DRAFT_BYTES_MAX = 200 * _MIB
DRAFTS_BYTES_MAX = 300 * _MIB  # the maximum size of the files of all drafts of an account
ACCOUNT_BYTES_MAX = 1024 * _MIB

NO_DOCUMENT = NotFound("Document not found on the checklist.")
NO_FILE = NotFound("File not found.")


class Received(NamedTuple):
    """A checked and stored file that is not yet part of a document.

    `facts` contains the column values of the DocumentFile that `add_file` creates.
    """

    stored: StoredFile
    facts: dict[str, Any]


def documents_of(application: Application) -> "QuerySet[RequestedDocument]":
    return application.requested_documents.prefetch_related("files")


def load_document(application_id: str, document_id: str, actor: Actor, *, is_noted: bool = True) -> RequestedDocument:
    """Return a document that `actor` can read. Raises NotFound, and the errors of `load_for`."""
    application = load_for(application_id, actor, is_noted=is_noted)
    return get_by_uuid(documents_of(application), document_id, NO_DOCUMENT)


def load_file(application_id: str, document_id: str, file_id: str, actor: Actor) -> DocumentFile:
    """Return a file that `actor` can read. Raises NotFound, and the errors of `load_for`.

    The caller must log the access.
    """
    document = load_document(application_id, document_id, actor, is_noted=False)
    files = DocumentFile.objects.filter(document=document, infection="")
    return get_by_uuid(files.select_related("stored", "document__application"), file_id, NO_FILE)


def receive_file(
    application_id: str, document_id: str, file: "UploadedFile[Any]", *, actor: Actor, now: datetime
) -> Received:
    """Check a file, and write it to the storage. `add_file` then adds the file to the document.

    Call this function outside of transactions, because it waits for the scanner and the disk. Raises the errors of
    `add_file` and `recognize`, and InfectedFile. Raises Unavailable if the scanner or the storage is not available.
    """
    document = _document_of_own(application_id, document_id, actor)
    _check_open(document)
    _check_quota(document, file.size or 0)
    content = file.read()
    facts = {
        "name": file.name or "",
        "content_type": recognize(content),
        "size_bytes": len(content),
        "sha256": sha256(content).hexdigest(),
    }
    infection = find_infection(content)
    if infection:
        if not document.files.filter(sha256=facts["sha256"]).exclude(infection="").exists():
            DocumentFile.objects.create(
                document=document, infection=infection, received_at=now, principal=actor.user,
                credential=actor.credential, **facts,
            )  # fmt: skip
        logger.warning("infected file refused for document %s: %s", document.pk, infection)
        raise InfectedFile(f"The scanner found {infection} in the file. It was not stored.")
    return Received(store_file(content, now=now), facts)


def add_file(application_id: str, document_id: str, received: Received, *, actor: Actor, now: datetime) -> DocumentFile:
    """Add a received file to a document of the actor's own application. Return the DocumentFile.

    Requires a transaction. Raises ApplicationNotFound, NotFound, DocumentClosed, and StorageQuotaExceeded. Raises
    RecordNotEditable for a decided or closed application.
    """
    document = _document_of_own(application_id, document_id, actor, locked=True)
    _check_open(document)
    # The lock prevents concurrent uploads from exceeding the quota.
    User.objects.select_for_update(no_key=True).get(pk=actor.user.pk)
    _check_quota(document, received.facts["size_bytes"])
    application = document.application
    # If the process was paused for an hour, the file is deleted already: see Note [What a crash leaves].
    if not StoredFile.objects.filter(pk=received.stored.pk, is_kept=False).update(is_kept=True):
        raise Unavailable
    file = DocumentFile.objects.create(
        document=document,
        stored=received.stored,
        received_at=now,
        principal=actor.user,
        credential=actor.credential,
        **received.facts,
    )
    if document.status == RequestedDocument.REQUESTED:
        document.status, document.received_at, document.changed_by = RequestedDocument.RECEIVED, now, actor.user
        document.save(update_fields=["status", "received_at", "changed_by"])
    # An upload restarts the expiry period of the application.
    Application.objects.filter(pk=application.pk).update(updated_at=max(now, application.updated_at))
    record_application_event("document_received", application, now=now, document_id=str(document.pk))
    return file


def _document_of_own(application_id: str, document_id: str, actor: Actor, *, locked: bool = False) -> RequestedDocument:
    """Return a document of the actor's own application. With `locked`, lock the document and the application."""
    own, documents = Application.objects.filter(consumer=actor.user), RequestedDocument.objects.all()
    if locked:
        own, documents = own.select_for_update(), documents.select_for_update()
    application = get_by_uuid(own, application_id, ApplicationNotFound)
    document = get_by_uuid(documents.filter(application=application), document_id, NO_DOCUMENT)
    document.application = application
    return document


def _check_open(document: RequestedDocument) -> None:
    if document.application.status in FROZEN:
        raise RecordNotEditable(f"The application is `{document.application.status}`, so it accepts no more files.")
    if document.status == RequestedDocument.ACCEPTED:
        raise DocumentClosed("The document was accepted, so it accepts no more files.")
    if document.files.filter(received_at__gte=document.requested_at).count() >= FILES_MAX:
        raise DocumentClosed(f"The document has {FILES_MAX} files, which is the maximum.")


def _check_quota(document: RequestedDocument, size: int) -> None:
    """Raise StorageQuotaExceeded if a file would exceed the limit of the account, of all drafts, or of one draft."""
    application = document.application
    files = DocumentFile.objects.filter(
        document__application__consumer=application.consumer_id, stored__isnull=False, stored__deleted_at=None
    )
    in_drafts = Q(document__application__status=DRAFT)
    in_this = Q(document__application=application.pk)
    used = files.aggregate(
        account=Sum("size_bytes"), drafts=Sum("size_bytes", filter=in_drafts), draft=Sum("size_bytes", filter=in_this)
    )
    limits = [("account", ACCOUNT_BYTES_MAX, "Your files", "withdraw a draft, whose files are then deleted")]
    if application.status == DRAFT:
        limits += [
            ("draft", DRAFT_BYTES_MAX, "The files of this draft", "submit the draft first"),
            ("drafts", DRAFTS_BYTES_MAX, "The files of your drafts", "submit or withdraw a draft"),
        ]
    for name, limit, words, remedy in limits:
        if (used[name] or 0) + size > limit:
            room = max(0, limit - (used[name] or 0))
            raise StorageQuotaExceeded(
                f"{words} can have {limit // _MIB} MiB in total, and {room} bytes are left. Send a smaller file, or "
                f"{remedy}."
            )
