"""The admin site."""

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone

from config.desk.charts import charts_of
from config.desk.html import duration
from config.desk.queues import queues_of, states_of


class DeskSite(AdminSite):
    """Django's admin site with our name and our pages."""

    site_title = "Desk"
    index_title = "What needs you now"
    site_url = None  # there is no website behind this, only an interface
    enable_nav_sidebar = True

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Name the platform in the header of every page."""
        return {**super().each_context(request), "site_header": settings.PROVIDER_NAME}

    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        """Show what waits on this person, then everything there is."""
        now = timezone.now()
        states = states_of(queues_of(request.user), user=request.user, now=now)
        cards = [
            {
                "queue": state.queue,
                "address": state.address,
                "count": state.shown_count,
                "is_empty": state.count == 0,
                "age": duration(now - state.oldest) if state.oldest else "",
                "is_urgent": bool(
                    state.oldest and state.queue.urgent_days and (now - state.oldest).days >= state.queue.urgent_days
                ),
            }
            for state in states
        ]
        cards.sort(key=lambda card: bool(card["is_empty"]))
        context = {"cards": cards, "charts": charts_of(request.user), **(extra_context or {})}
        return super().index(request, context)
