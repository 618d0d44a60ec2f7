from collections.abc import Iterable
from typing import Self

from config.core.errors import ApiError
from credit.core.due import Due


class RequirementsDue(ApiError):
    """The offer asks for what the application does not have yet; `details` name each by its JSON pointer."""

    error, code, stored = "requirements_due", "E1020", True
    message = "The offer asks for more than the application has."

    @classmethod
    def of(cls, due: Iterable[Due]) -> Self | None:
        details = [{"field": one.pointer, "message": one.why} for one in due]
        return cls(details=details) if details else None
