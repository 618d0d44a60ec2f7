from typing import Any
from unicodedata import normalize

from config.api import serializers
from credit.api.documents.parsers import UploadField
from credit.models.documents import DOCUMENTS_MAX, DocumentFile, RequestedDocument


class TitleField(serializers.WordsField):
    """The title of a document in NFC. So different encodings of a title create only one entry on the checklist."""

    def to_internal_value(self, data: Any) -> str:
        return normalize("NFC", super().to_internal_value(data))


class DocumentRequestRequestSerializer(serializers.RequestSerializer):
    """Documents to request from the applicant."""

    names = serializers.ListField(
        child=TitleField(),
        min_length=1,
        max_length=DOCUMENTS_MAX,
        help_text="The titles of the documents. The checklist of an application has at most "
        f"{DOCUMENTS_MAX} documents.",
    )
    reason = serializers.TextField(
        **serializers.NULLABLE,
        help_text="The message that the applicant reads above the checklist. The API stores it as the reason of the "
        "status change. Ignored if the application is already `pending_documents`. Null if there is none.",
    )


class DocumentFileRequestSerializer(serializers.RequestSerializer):
    """A file to upload."""

    file = UploadField(help_text="A PDF, JPEG, or PNG of at most 10 MiB.")


class DocumentFileSerializer(serializers.ModelResponseSerializer):
    """An uploaded file."""

    size_bytes = serializers.Int64Field()

    class Meta:
        model = DocumentFile
        fields = ["id", "name", "content_type", "size_bytes", "sha256", "received_at"]


class DocumentFilesSerializer(serializers.ResponseSerializer):
    """The files of a document."""

    files = DocumentFileSerializer(many=True, help_text="The files, oldest first.")
    total = serializers.Int64Field(help_text="The number of files.")


class RequestedDocumentSerializer(serializers.ModelResponseSerializer):
    """A document on an application's checklist."""

    files = DocumentFileSerializer(many=True, source="kept_files", help_text="The uploaded files, oldest first.")

    class Meta:
        model = RequestedDocument
        fields = ["id", "name", "status", "reason", "requested_at", "received_at", "accepted_at", "files"]


class DocumentsPageSerializer(serializers.ResponseSerializer):
    """An application's checklist."""

    documents = RequestedDocumentSerializer(many=True, help_text="The documents on the checklist.")
    total = serializers.Int64Field(help_text="The number of documents.")
