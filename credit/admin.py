"""Django loads an app's admin from this module; the classes are in `credit.console`."""

from credit.console import applications, notices, offers, people, records, scoring, withdrawals

__all__ = ["applications", "notices", "offers", "people", "records", "scoring", "withdrawals"]
