"""Register the admin classes of `credit.console`. Django loads the admin of an app from this module."""

from credit.console import applications, notices, offers, people, records, scoring, withdrawals

__all__ = ["applications", "notices", "offers", "people", "records", "scoring", "withdrawals"]
