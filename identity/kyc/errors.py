"""Errors of identity verifications that their model raises."""

from config.core.errors import ValidationFailed
from config.core.lifecycle import InvalidTransition


class InvalidVerificationTransition(InvalidTransition, ValidationFailed):
    """A transition that the verification's status, or the one who asks, does not allow now."""
