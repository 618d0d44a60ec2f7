"""Deciding about applications: by one reviewer, by two, or by a score; the principal reasons, and what waits."""
