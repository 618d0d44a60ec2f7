from collections.abc import Sequence

from config.core.errors import ApiError
from credit.core.reasons import OTHER, REASONS, Reason, faults_of


class ReasonsRequired(ApiError):
    """A rejection without its principal reasons where reviewers decide, or a reopening that needs a reason."""

    error, code = "reasons_required", "E1017"
    message = "A rejection needs its principal reasons."


def require_specific(reasons: Sequence[Reason], *, has_report: bool, member: str = "metadata.reasons") -> None:
    """Raise ReasonsRequired unless there are reasons, and each names a specific factor (12 CFR 1002.9(b)(2))."""
    details = {"codes": [*REASONS, OTHER]}
    if not reasons:
        raise ReasonsRequired(
            f"`{member}` must name one to four principal reasons, each once, the most important first: codes, or "
            '{"code": "other", "text": "…"}.',
            details=details,
        )
    if faults := faults_of(reasons, has_report=has_report):
        raise ReasonsRequired(" ".join(faults), details=details)


class AlreadyProposed(ApiError):
    message = "A proposal waits already. Confirm or decline that one first."
