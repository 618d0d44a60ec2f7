"""The admin site."""

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest


class DeskSite(AdminSite):
    """Django's admin site with our name and our pages."""

    site_title = "Desk"
    index_title = "What needs you now"
    site_url = None  # there is no website behind this, only an interface
    enable_nav_sidebar = True

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Name the platform in the header of every page."""
        return {**super().each_context(request), "site_header": settings.PROVIDER_NAME}
