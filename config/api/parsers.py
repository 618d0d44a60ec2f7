from typing import Any

from rest_framework.parsers import BaseParser

from config.core.errors import UnsupportedMediaType
from config.core.json_bodies import BODY_MAX_BYTES, MEMBERS_MAX, parse_json, read_body


class StrictJSONParser(BaseParser):
    """A strict JSON parser. A subclass sets other limits for the size of a body or its number of items."""

    media_type = "application/json"
    max_bytes = BODY_MAX_BYTES
    members_max = MEMBERS_MAX

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        request = parser_context["request"]
        encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
        charset = request.content_params.get("charset", "utf-8").lower()
        is_utf8 = charset in {"utf-8", "utf8"} and encoding in {"", "identity"}
        if not is_utf8 or request.content_type.partition(";")[0].strip().lower() != self.media_type:
            raise UnsupportedMediaType
        return parse_json(read_body(request, limit=self.max_bytes), members_max=self.members_max)
