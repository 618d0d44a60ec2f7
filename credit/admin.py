"""Django looks for an app's admin here; the classes are in `credit.console`."""

from credit.console import anchoring, applications, notices, offers, queues, scoring
from credit.console import history as history_admin

__all__ = ["anchoring", "applications", "history_admin", "notices", "offers", "queues", "scoring"]
