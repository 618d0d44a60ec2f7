"""The groups of the back office, under the name by which the rooms know them; the kit grants to them, too."""

from config.groups import OPERATIONS, REVIEWER, SUPPORT, GrantToGroups

__all__ = ["OPERATIONS", "REVIEWER", "SUPPORT", "GrantToGroups"]
