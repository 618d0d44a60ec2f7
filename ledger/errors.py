from config.core.errors import ApiError


class _TryAgainError(ApiError):
    status = 503

    def __init__(self, message: str = "") -> None:
        super().__init__(message, headers={"Retry-After": "5"})


class InvalidHashError(ApiError):
    """The hash in the path is not valid (specification section 8: exactly 64 hex characters)."""

    error, code, message = "invalid_hash", "E7001", "A hash must have exactly 64 hexadecimal characters."


class LogUnavailableError(_TryAgainError):
    """The log can't sign now. No part of this request was acknowledged or signed."""

    error, code = "log_unavailable", "E7002"
    message = "The log can't sign now. The ledger anchored nothing. Retry later."


class GuardOutOfReachError(LogUnavailableError):
    """The guard file can't be read or written now."""


class GuardDamagedError(LogUnavailableError):
    """The guard file is damaged. An operator must inspect it before the log signs again."""

    message = "The log's guard file is damaged. The operator must restore it, or run `manage.py adopt_ledger_head`."


class GuardMissingError(LogUnavailableError):
    """The log has blocks, but its guard file is missing or empty. Blocks may be missing from the database."""

    message = (
        "The log has no guard file with its last signed size. It does not sign until the operator restores the "
        "file, or confirms with `manage.py adopt_ledger_head` that the database is the newest."
    )


class LogBehindError(LogUnavailableError):
    """The database lacks entries that this machine has signed. A likely cause is a restored backup."""

    message = (
        "The log's database is older than its last signature. To prevent a second history, the log does not sign. "
        "The operator must restore the newest database."
    )


class ForeignHeadError(LogUnavailableError):
    message = (
        "The log's newest checkpoint was not signed with the key and origin that are configured. It does not sign: "
        "the operator must restore LEDGER_SIGNING_KEY and LEDGER_ORIGIN, or begin a new log."
    )


class LogDamagedError(LogUnavailableError):
    """The stored tree is inconsistent. `verify_ledger` finds the fault."""

    message = "The stored log is damaged. The ledger returns no proofs until its operator has repaired it."


class LogMovedError(LogUnavailableError):
    """The head changed despite the lock, so another program writes to the log."""


class NotWitnessedYetError(_TryAgainError):
    """No checkpoint over this entry has the quorum of witnesses yet. The entry is anchored. Retry later."""

    error, code = "not_witnessed_yet", "E7003"
    message = "The entry is anchored, but the witnesses have not cosigned it yet. Retry later, or omit `witnessed`."
