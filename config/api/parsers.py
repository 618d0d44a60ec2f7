from typing import Any

from rest_framework.parsers import BaseParser

from config.core.errors import UnsupportedMediaType
from config.core.json_bodies import BODY_MAX_BYTES, MEMBERS_MAX, parse_json, read_body


def check_media_type(meta: Any) -> None:
    if meta.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() not in {"", "identity"}:
        raise UnsupportedMediaType
    media_type, _, parameters = meta.get("CONTENT_TYPE", "").partition(";")
    if media_type.strip().lower() != "application/json":
        raise UnsupportedMediaType
    for parameter in filter(None, (part.strip() for part in parameters.split(";"))):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in {"utf-8", "utf8"}:
            raise UnsupportedMediaType


class StrictJSONParser(BaseParser):
    """A strict JSON parser. An endpoint with different limits uses a subclass."""

    media_type = "application/json"
    max_bytes = BODY_MAX_BYTES
    members_max = MEMBERS_MAX  # the limit applies to the document as a whole

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        request = parser_context["request"]
        if request.META.get("CONTENT_TYPE") != self.media_type or "HTTP_CONTENT_ENCODING" in request.META:
            check_media_type(request.META)
        return parse_json(read_body(request, limit=self.max_bytes), members_max=self.members_max)
