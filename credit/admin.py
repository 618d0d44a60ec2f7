"""Django looks for an app's admin here; the classes are in `credit.console`."""

from credit.console import anchoring, applications, history, notices, offers, queues, scoring

__all__ = ["anchoring", "applications", "history", "notices", "offers", "queues", "scoring"]
