from config.core.errors import ApiError
from config.core.lifecycle import InvalidTransition


class ScoringModelNotFound(ApiError):
    """No such model or version, or not one of a provider that the caller acts for."""

    status, error, code, stored = 404, "scoring_model_not_found", "E4011", True
    message = "Scoring model not found."


class ScoreNotFound(ApiError):
    status, error, code, stored = 404, "score_not_found", "E4013", True
    message = "The application has no score."


class InvalidVersionTransition(InvalidTransition):
    """A scoring model's version that is retired, or was never published."""

    error, code, stored = "invalid_version_transition", "E3014", True
    message = "The version cannot be moved there."
