"""Django looks for an app's admin here; the classes are in `credit.console`."""

from credit.console import applications, notices, offers, records, scoring, withdrawals

__all__ = ["applications", "notices", "offers", "records", "scoring", "withdrawals"]
