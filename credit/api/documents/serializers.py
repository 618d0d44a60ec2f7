from config.api import serializers
from credit.api.documents.parsers import UploadField
from credit.models.documents import DOCUMENTS_MAX


class DocumentRequestRequestSerializer(serializers.RequestSerializer):
    """Documents to ask the consumer for."""

    names = serializers.ListField(
        child=serializers.IdField(),
        min_length=1,
        max_length=DOCUMENTS_MAX,
        help_text="The documents to request: each becomes an entry of the checklist.",
    )
    reason = serializers.TextField(
        allow_null=True, default=None, help_text="The message to the consumer above the checklist."
    )

    def validate_names(self, names: list[str]) -> list[str]:
        if not all(name.strip() for name in names):
            raise serializers.ValidationError("A name says what is asked for.")
        return names


class DocumentFileRequestSerializer(serializers.RequestSerializer):
    """A file to upload."""

    file = UploadField(help_text="A PDF, JPEG or PNG of at most 10 MiB.")


class DocumentFileSerializer(serializers.ResponseSerializer):
    """A file that was handed in."""

    id = serializers.UUIDField(help_text="The file's id.")
    name = serializers.TextField(help_text="The name that the file came with.")
    content_type = serializers.TextField(help_text="application/pdf, image/jpeg or image/png, by its content")
    size_bytes = serializers.Int64Field(help_text="In bytes.")
    sha256 = serializers.TextField(help_text="The SHA-256 of the file, in hex.")
    received_at = serializers.DateTimeField(help_text="When it was handed in (UTC).")


class DocumentFilesSerializer(serializers.ResponseSerializer):
    """The files of a document."""

    files = DocumentFileSerializer(many=True, help_text="The earliest first.")
    total = serializers.Int64Field()


class RequestedDocumentSerializer(serializers.ResponseSerializer):
    """A document that a reviewer requested."""

    id = serializers.UUIDField(help_text="The document's id.")
    name = serializers.TextField(help_text="What was asked for.")
    status = serializers.TextField(help_text="requested, received or accepted")
    reason = serializers.TextField(help_text="Why it is asked for again; empty the first time.")
    requested_at = serializers.DateTimeField(help_text="When it was asked for (UTC).")
    received_at = serializers.DateTimeField(
        allow_null=True, help_text="When the newest file was handed in (UTC); null before."
    )
    accepted_at = serializers.DateTimeField(
        allow_null=True, help_text="When a reviewer accepted it (UTC); null before."
    )
    files = DocumentFileSerializer(many=True, source="kept_files", help_text="What was handed in for it.")


class DocumentsPageSerializer(serializers.ResponseSerializer):
    """An application's checklist."""

    documents = RequestedDocumentSerializer(many=True, help_text="The requested document.")
    total = serializers.Int64Field()
