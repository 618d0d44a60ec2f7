"""The import path of the field in the first migration; the code is in `credit.core.applicants`."""

from credit.core.applicants import ApplicantsField

__all__ = ["ApplicantsField"]
