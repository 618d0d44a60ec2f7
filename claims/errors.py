from config.core.errors import ApiError
from config.core.lifecycle import InvalidTransition


class ClaimNotFound(ApiError):
    status, error, code, stored = 404, "claim_not_found", "E4003", True
    message = "Claim not found."


class InvalidClaimTransition(InvalidTransition):
    error, code, stored = "invalid_claim_transition", "E3002", True
    message = "The claim's status does not allow this change. `details.allowed` lists the allowed statuses."
