from config.core.errors import ApiError


class ReasonsRequired(ApiError):
    """A rejection without its principal reasons where reviewers decide, or a reopening that needs a reason."""

    error, code = "reasons_required", "E1017"
    message = (
        "`metadata.reasons` must name one to four principal reasons, each once, the most important first: codes, or "
        '{"code": "other", "text": "…"}.'
    )


class AlreadyProposed(ApiError):
    message = "A proposal waits already. Confirm or decline that one first."
