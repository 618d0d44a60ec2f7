"""Applicants, as the lender console lists them."""

from identity.models import User


class Applicant(User):
    """An account with applications. The permission to view it does not include the account's own page."""

    class Meta:
        proxy = True
        verbose_name, verbose_name_plural = "person", "people"
