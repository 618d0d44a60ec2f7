"""The choice of the language of a text that a reviewer writes to an applicant."""

from typing import Any

from django import forms
from django.utils.translation import get_language_info

from credit.core.applicants import LANGUAGES, language_of
from credit.core.translations import language_of_terms
from credit.models import Application

HINT = "The applicant reads {}. Write in this language if you can."


def languages_between(application: Application) -> dict[str, str]:
    """Return the language that the applicant reads, and the language of the offer, in which the lender writes."""
    return {
        "reads": application.consumer.language or language_of(application.readable_applicants),
        "writes": language_of_terms(application.offer_snapshot or {}),
    }


def language_name(language: str) -> str:
    return str(get_language_info(language)["name"])


def language_choices() -> list[tuple[str, str]]:
    return [(code, language_name(code)) for code in LANGUAGES]


def hint_of(initial: Any) -> str:
    """Return a hint about the applicant's language, or "" if it is the offer's language."""
    reads = initial.get("reads")
    is_other = reads is not None and reads != initial.get("writes")
    return HINT.format(language_name(reads)) if is_other else ""


def add_language(form: forms.Form) -> None:
    """Add the field `language` to a form if the applicant's language differs from the offer's language."""
    if hint := hint_of(form.initial):
        form.fields["language"] = forms.ChoiceField(
            choices=language_choices(),
            initial=form.initial["writes"],
            required=False,
            label="Language of your text",
            help_text=hint,
        )


def chosen_in(form: forms.Form) -> str | None:
    """Return the language of the text, or None for the language of the offer."""
    language: str = form.cleaned_data.get("language") or ""
    return language if language and language != form.initial.get("writes") else None
