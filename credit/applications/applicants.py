"""The import path of `ApplicantsField` in the first migration. The code is in `credit.core.applicants`."""

from credit.core.applicants import ApplicantsField

__all__ = ["ApplicantsField"]
