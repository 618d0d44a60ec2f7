"""Django looks for an app's admin here; the rooms have theirs beside their models."""

from credit.anchoring import admin as anchoring
from credit.applications import admin as applications
from credit.applications import history_admin
from credit.notices import admin as notices
from credit.offers import admin as offers
from credit.review import queues
from credit.scoring import admin as scoring

__all__ = ["anchoring", "applications", "history_admin", "notices", "offers", "queues", "scoring"]
