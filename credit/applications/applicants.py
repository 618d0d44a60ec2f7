"""The import path that the first migration uses for the field; the code is in `credit.core.applicants`."""

from credit.core.applicants import ApplicantsField

__all__ = ["ApplicantsField"]
