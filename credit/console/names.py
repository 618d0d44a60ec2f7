"""Display the names of applicants and lenders in lists and on pages."""

from collections.abc import Iterable
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.html import change_address, link
from config.backoffice.personal import MASK
from credit.core.applicants import Person


def legal_names(application: Any, *, is_masked: bool | None = None) -> str:
    """Return the legal names of the applicants, MASK if they are masked, or "" without readable names.

    If `is_masked` is None, the application's own mask applies. Masked names are not decrypted.
    """
    stored = application.__dict__.get("applicants")
    if stored is None:
        return ""
    if is_masked or getattr(application, "is_masked", False):
        return MASK
    return joined_names(application.readable_applicants)


def joined_names(applicants: Iterable[Person] | None) -> str:
    return " and ".join(person["legal_name"] for person in applicants or ())


def person_cell(name: str, below: Any) -> SafeString | str:
    """Display a legal name above an account or a reference. Without a name, display only `below`."""
    if not name:
        return format_html("{}", below)
    return format_html('<span><bdi class="legal-name">{}</bdi> <span class="below">{}</span></span>', name, below)


def lender_name(provider: Any) -> SafeString:
    """Link to a lender's page by the lender's name, or by its id if it has no name."""
    return link(change_address("credit_provider", provider.pk), provider.name or provider.pk)
