"""What the admins of this app share."""

from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from config.backoffice.html import chip
from config.backoffice.owned import OwnedRecords


class OwnedAdmin(OwnedRecords):
    """Records of a person that have a status."""

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: Any) -> SafeString:
        """Show the status."""
        return chip(record.status)
