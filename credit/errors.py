"""Errors of applications that their model raises."""

from config.core.lifecycle import InvalidTransition


class InvalidApplicationTransition(InvalidTransition):
    """A transition that the application's status does not allow now."""

    error, code, stored = "invalid_application_transition", "E3001", True
    message = "The application cannot be moved there."
