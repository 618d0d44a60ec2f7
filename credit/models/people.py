"""People who apply, as a lender's console lists them."""

from identity.models import User


class Applicant(User):
    """An account with applications. Rights to view it do not include the account's own page."""

    class Meta:
        proxy = True
        verbose_name, verbose_name_plural = "person", "people"
