"""Request bodies in chunks. Django reads a body only by its `Content-Length`, which chunked requests lack."""

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

Application = Callable[..., Iterable[bytes]]


class ChunkedBodies:
    """A WSGI application that reads a chunked body to its end and sets `CONTENT_LENGTH` for the wrapped application."""

    def __init__(self, application: Application, *, limit: int) -> None:
        self._application = application
        self._limit = limit

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if "HTTP_TRANSFER_ENCODING" in environ and not environ.get("CONTENT_LENGTH"):
            try:
                body = environ["wsgi.input"].read(self._limit + 1)
                length = len(body)
            except Exception:  # noqa: BLE001  each server has errors of its own for malformed chunks
                body, length = b"", 1  # shorter than this length, so the request is rejected as truncated
            environ["wsgi.input"], environ["CONTENT_LENGTH"] = BytesIO(body), str(length)
        return self._application(environ, start_response)
