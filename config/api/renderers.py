from collections.abc import Iterable
from functools import cache
from typing import Any

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer

from config.core.json_text import render_json
from config.core.media_types import quality_of


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:  # noqa: ARG002
        return b"" if data is None else render_json(data)


@cache
def renderer_for(media_type: str) -> type[BaseRenderer]:
    """Return a renderer class for a media type that the endpoint itself renders."""
    return type("OtherRenderer", (OrjsonRenderer,), {"media_type": media_type, "format": media_type})


class AnyAnswer(DefaultContentNegotiation):
    """Content negotiation by RFC 9110. The first of several types with equal quality wins."""

    def select_renderer(
        self,
        request: Any,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002
    ) -> tuple[BaseRenderer, str]:
        if request.META.get("HTTP_ACCEPT", "*/*") == "*/*":
            first = next(iter(renderers))
            return first, first.media_type
        accept = request.META["HTTP_ACCEPT"] or "*/*"
        chosen = max(renderers, key=lambda renderer: quality_of(renderer.media_type, accept))
        if not quality_of(chosen.media_type, accept):
            raise NotAcceptable
        return chosen, chosen.media_type
