"""The sections of the application form, and the progress of each."""

from collections.abc import Collection
from typing import NamedTuple

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

# The groups of an applicant's fields.
_PERSON = (
    (_("Person"), ("legal_name", "date_of_birth")),
    (_("Contact"), ("email", "phone", "language")),
    (
        _("Home address"),
        ("address.line1", "address.line2", "address.city", "address.region", "address.postal_code", "address.country"),
    ),
)
DONE, TO_DO, WRONG, OPTIONAL = "done", "to_do", "wrong", "optional"


class Step(NamedTuple):
    """A section of the form. `anchor` is its HTML ID."""

    number: int
    anchor: str
    title: str
    state: str


def groups_of(person: forms.Form) -> list[tuple[str, list[forms.BoundField]]]:
    """Return the groups of an applicant's fields, each with its title."""
    return [(str(title), [person[name] for name in names]) for title, names in _PERSON]


def state_of(form: forms.Form, names: Collection[str], required: Collection[str]) -> str:
    """Return the progress of the fields `names` of a form, of which `required` must have a value."""
    if form.is_bound and any(form[name].errors for name in names):
        return WRONG
    empty = [name for name in names if name in required and form[name].value() in (None, "")]
    return TO_DO if empty else DONE


def number_steps(states: dict[str, str]) -> list[Step]:
    """Return the steps of the form, numbered from 1. `states` has the progress of each section with fields."""
    titles = {
        "loan": gettext("Loan"),
        "answers": gettext("Your answers"),
        "applicant": gettext("Applicant"),
        "sharing": gettext("Data shared with the lender"),
        "sending": gettext("Check and send"),
    }
    sections = {**states, "sending": TO_DO}
    names = [name for name in titles if name in sections]
    return [Step(number, name, titles[name], sections[name]) for number, name in enumerate(names, start=1)]
