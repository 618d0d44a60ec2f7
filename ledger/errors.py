from config.core.errors import ApiError


class _TryAgainError(ApiError):
    status = 503

    def __init__(self, message: str = "") -> None:
        super().__init__(message, headers={"Retry-After": "5"})


class InvalidHashError(ApiError):
    """The hash in the path is not one (specification section 8: exactly 64 hex characters)."""

    error, code, message = "invalid_hash", "E7001", "A hash must have exactly 64 hexadecimal characters."


class LogUnavailableError(_TryAgainError):
    """The log does not sign now: nothing of this request was acknowledged, nothing new was signed."""

    error, code = "log_unavailable", "E7002"
    message = "The log can't sign now. The ledger anchored nothing. Retry later."


class GuardOutOfReachError(LogUnavailableError):
    """The guard file cannot be read or written now."""


class GuardDamagedError(LogUnavailableError):
    """The guard file cannot be understood; an operator has to look before anything is signed."""

    message = "The log's guard file is damaged: put it back, or see `manage.py adopt_ledger_head`."


class GuardMissingError(LogUnavailableError):
    """A log that has blocks has no guard file, or an empty one: it is unknown whether blocks are missing."""

    message = (
        "The log has no guard file with its last signed size. It refuses to sign until its operator restores the "
        "file, or confirms with `manage.py adopt_ledger_head` that the database is the newest."
    )


class LogBehindError(LogUnavailableError):
    """The database lacks entries that were signed on this machine: a backup was put back."""

    message = (
        "The log's database is older than its last signature. It refuses to sign, so that there is never a "
        "second history: its operator has to restore the newest database."
    )


class ForeignHeadError(LogUnavailableError):
    message = (
        "The log's newest checkpoint was not signed with the key and origin that are configured. It refuses to sign: "
        "its operator has to put LEDGER_SIGNING_KEY and LEDGER_ORIGIN back, or begin a new log."
    )


class LogDamagedError(LogUnavailableError):
    """The stored tree contradicts itself; `verify_ledger` finds the place."""

    message = "The stored log is damaged. The ledger returns no proofs until its operator has repaired it."


class LogMovedError(LogUnavailableError):
    """The head changed under the lock: something that is not this code writes to the log."""


class NotWitnessedYetError(_TryAgainError):
    """No checkpoint over this entry has its witnesses' quorum yet: it is anchored, and may be asked for again."""

    error, code = "not_witnessed_yet", "E7003"
    message = "The entry is anchored, but the witnesses have not cosigned it yet. Retry later, or omit `witnessed`."
