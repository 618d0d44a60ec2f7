"""Import `ApplicantsField` for the first migration, which uses this path. The code is in `credit.core.applicants`."""

from credit.core.applicants import ApplicantsField

__all__ = ["ApplicantsField"]
