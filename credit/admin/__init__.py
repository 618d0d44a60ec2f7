"""The back office of this app; Django looks for it here."""

from credit.admin import applications, offers, scoring

__all__ = ["applications", "offers", "scoring"]
