from typing import Any
from urllib.parse import parse_qsl

from rest_framework.parsers import BaseParser

from config.core.errors import ValidationFailed
from config.core.json_bodies import read_body

FORM_MAX_MEMBERS = 64


class StrictFormParser(BaseParser):
    """HTML forms in UTF-8, each member given once (RFC 6749, section 3.2)."""

    media_type = "application/x-www-form-urlencoded"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        raw = read_body(parser_context["request"])
        try:
            pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=FORM_MAX_MEMBERS)
        except ValueError as error:
            raise ValidationFailed("The body is not a form in UTF-8.") from error
        members = dict(pairs)
        if len(members) != len(pairs):
            raise ValidationFailed("Every member must be given once.")
        return members
