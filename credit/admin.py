"""Register the admin classes of `credit.console`. Django loads the admin of an app from this module."""

from credit.console import applications, holds, notices, offers, people, records, scoring, team, terms

__all__ = ["applications", "holds", "notices", "offers", "people", "records", "scoring", "team", "terms"]
