"""Decisions about applications: by one reviewer, by two reviewers, or by a score."""
