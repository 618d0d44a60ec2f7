from config.core.errors import ApiError


class AccountNotFound(ApiError):
    status, error, code, stored = 404, "account_not_found", "E4014", True
    message = "There is no such account among those that you manage."


class AccessEnded(ApiError):
    status, error, code = 403, "access_ended", "E2013"
    message = "The person has ended your access to their account."
