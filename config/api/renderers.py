from collections.abc import Iterable
from functools import cache
from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer

from config.core.json_text import render_json


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:  # noqa: ARG002
        return b"" if data is None else render_json(data)


@cache
def renderer_for(media_type: str) -> type[BaseRenderer]:
    """Return the renderer class that stands for a media type in which an endpoint writes its answer itself."""
    return type("OtherRenderer", (OrjsonRenderer,), {"media_type": media_type, "format": media_type})


class AnyAnswer(DefaultContentNegotiation):
    """Negotiation by RFC 9110. For types with equal weight, the first one is chosen."""

    def select_renderer(
        self,
        request: Any,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002
    ) -> tuple[BaseRenderer, str]:
        if request.META.get("HTTP_ACCEPT", "*/*") == "*/*":
            first = next(iter(renderers))
            return first, first.media_type
        chosen: tuple[BaseRenderer, str] = super().select_renderer(request, renderers, format_suffix)
        return chosen
