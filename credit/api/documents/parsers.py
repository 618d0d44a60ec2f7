"""Uploads: `multipart/form-data` with one file. View methods use REST framework's `@parser_classes([FileParser])`.

The file is read in chunks and rejected as soon as it exceeds `FILE_UPLOAD_MAX_BYTES`. The file stays in memory, so the
API never writes an unencrypted upload to disk.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.files.uploadedfile import InMemoryUploadedFile, UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser

from config.core.errors import ApiError, PayloadTooLarge, UnsupportedMediaType, ValidationFailed

READ_AWAY_MAX_BYTES = 67_108_864  # the server closes the connection if a rejected body is longer
FORM_MAX_BYTES = 65_536  # the allowance for boundaries, headers, and other fields


@extend_schema_field(OpenApiTypes.BINARY)
class UploadField(serializers.FileField):
    """The file field of a form."""


class FileParser(MultiPartParser):
    """REST framework's parser of forms with files, restricted to one complete file within the limit."""

    max_bytes = settings.FILE_UPLOAD_MAX_BYTES

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Parse the body. Raises UnsupportedMediaType, PayloadTooLarge, or ValidationFailed."""
        with take_one_file(parser_context["request"], self.max_bytes):
            try:
                return super().parse(stream, media_type, parser_context)
            except RequestDataTooBig as error:
                raise _too_large(self.max_bytes) from error
            except ParseError as error:
                raise ValidationFailed(f"The multipart form is not valid: {error.detail}") from error
            # The form has too many fields or an unknown charset, or the client closed the connection.
            except (SuspiciousOperation, LookupError, ValueError, OSError) as error:
                raise ValidationFailed("The multipart form is not valid.") from error


class _OneFile(FileUploadHandler):
    """Reads the only file of a request into memory."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._content = BytesIO()
        self._has_begun = False

    def new_file(self, *arguments: Any, **options: Any) -> None:
        """Start to receive the file. Raises ValidationFailed for a second file."""
        super().new_file(*arguments, **options)
        if self._has_begun:
            raise ValidationFailed("A request must contain exactly one file.")
        self._has_begun = True

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Receive a chunk of the file. Raises PayloadTooLarge if the file exceeds the limit."""
        if start + len(raw_data) > self._limit:
            raise _too_large(self._limit)
        self._content.write(raw_data)

    def file_complete(self, file_size: int) -> "UploadedFile[Any]":
        self._content.seek(0)
        return InMemoryUploadedFile(
            self._content, self.field_name, self.file_name, self.content_type, file_size, self.charset
        )

    def upload_interrupted(self) -> None:
        """Raise ValidationFailed if the body ends within the file."""
        raise ValidationFailed("The multipart form ended before its last boundary.")


@contextmanager
def take_one_file(request: HttpRequest, limit: int) -> Iterator[None]:
    """Limit a form to a single file of at most `limit` bytes. The file stays in memory.

    Raises UnsupportedMediaType for a compressed body. Raises PayloadTooLarge or ValidationFailed when Django reads the
    form within the context.
    """
    request.upload_handlers = [_OneFile(limit)]
    try:
        if request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() not in {"", "identity"}:
            raise UnsupportedMediaType
        if int(request.META.get("CONTENT_LENGTH") or 0) > limit + FORM_MAX_BYTES:
            raise _too_large(limit)
        yield
    except ApiError:
        _read_away(request)
        raise


def _read_away(stream: Any) -> None:
    """Read the rest of a rejected body. Otherwise, the connection closes before the caller gets the response."""
    left = READ_AWAY_MAX_BYTES
    with suppress(OSError):
        while left > 0 and (piece := stream.read(65_536)):
            left -= len(piece)


def _too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The file must have at most {limit} bytes.")
