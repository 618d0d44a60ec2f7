"""Staging: data that waits for its user's yes or no before it becomes permanent."""
