"""Legal names of applicants on the console's lists and pages."""

from collections.abc import Iterable
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.html import record_link
from config.backoffice.personal import MASK
from config.core.encryption import UnreadableSecret
from credit.core.applicants import Person
from credit.core.figures import reference_of


def legal_names(application: Any, *, is_masked: bool | None = None) -> str:
    """Return the applicants' legal names; MASK if the viewer may not see them, "" without readable names.

    Without `is_masked`, the application's own mask applies. A masked name is not decrypted.
    """
    stored = application.__dict__.get("applicants")
    if stored is None:
        return ""
    if is_masked or getattr(application, "is_masked", False):
        return MASK
    try:
        return joined_names(application.applicants)
    except UnreadableSecret:
        return ""


def readable_applicants(application: Any) -> list[Person]:
    """Return the applicants; empty if they are erased, or if no key decrypts them."""
    try:
        return list(application.applicants or ())
    except UnreadableSecret:
        return []


def joined_names(applicants: Iterable[Person] | None) -> str:
    return " and ".join(person["legal_name"] for person in applicants or ())


def named_reference(application: Any) -> str:
    """Return the legal names and the reference of an application, for the titles of pages."""
    names, reference = legal_names(application), reference_of(application.pk)
    return f"{names} · {reference}" if names else reference


def person_cell(name: str, below: Any) -> SafeString | str:
    """Return a legal name above an account or a reference; without a name, only the latter."""
    if not name:
        return format_html("{}", below)
    return format_html('<span><bdi class="legal-name">{}</bdi> <span class="below">{}</span></span>', name, below)


def named_link(application: Any, *, is_masked: bool) -> SafeString | str:
    """Return the legal names above a link to the application."""
    reference = record_link("credit_application", application.pk, reference_of(application.pk))
    return person_cell(legal_names(application, is_masked=is_masked), reference)
