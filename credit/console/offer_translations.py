"""The forms with which a lender's owner translates the texts of an offer, and the display of the translations."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django import forms
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import capfirst

from config.backoffice.forms import SeenForm
from config.backoffice.html import words
from config.backoffice.records import RecordAction
from config.backoffice.transitions import actor_of
from config.core.errors import ValidationFailed
from config.core.json_text import escaped
from credit.api.offers.serializers import OfferRequestSerializer
from credit.console.text_language import language_name
from credit.core.applicants import LANGUAGES
from credit.core.profile import members_of, title_of
from credit.core.translations import Original, language_of_terms, originals_of
from credit.models import Offer
from credit.offers.services import replace_offer

Path = tuple[str, ...]
# Django accepts at most 1,000 fields in a form.
FIELDS_MAX = 900
_ROWS = {True: 3, False: 1}
_SECTIONS = {
    "application_schema": "Application form",
    "required_documents": "Documents",
    "terms_text": "Agreement",
    "texts": "Information for applicants",
}


def paths_of(texts: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each text of a translation, or of its originals, with its path."""
    for name, part in texts.items():
        if isinstance(part, dict):
            yield from paths_of(part, (*above, name))
        else:
            yield (*above, name), part


def section_of(path: Path, terms: Mapping[str, Any]) -> str:
    """Return the title of the section for a text. Each field of the application form has a section."""
    if path[:2] == ("application_schema", "properties"):
        member = members_of(terms["application_schema"]).get(path[2], {})
        return f"Field “{title_of(path[2], member)}”"
    return _SECTIONS.get(path[0], "Offer")


def label_of(path: Path) -> str:
    if path[-2:-1] == ("choices",):
        return f"Choice “{path[-1]}”"
    if path[0] == "required_documents":
        return f"Document “{path[-1]}”"
    return "Terms of the lender" if path == ("terms_text",) else capfirst(words(path[-1]))


def in_brief(terms: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the translated texts of an offer with readable titles, by the name of the language."""
    return {
        language_name(language): {
            f"{section_of(path, terms)}: {label_of(path)}": text for path, text in paths_of(translation)
        }
        for language, translation in (terms.get("translations") or {}).items()
    }


class TranslationForm(SeenForm):
    """The texts of an offer in a language. Each field shows the offer's own text, and is optional."""

    language: ClassVar[str]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.terms: dict[str, Any] = self.initial["terms"]
        known = dict(paths_of((self.terms.get("translations") or {}).get(self.language, {})))
        originals: list[tuple[Path, Original]] = [*paths_of(originals_of(self.terms, self.language))]
        self.paths = {f"text_{number}": path for number, (path, _) in enumerate(originals)}
        for (name, path), (_, original) in zip(self.paths.items(), originals, strict=True):
            self.fields[name] = forms.CharField(
                label=label_of(path),
                max_length=original.max_length,
                required=False,
                initial=known.get(path, ""),
                help_text=original.text,
                widget=forms.Textarea(attrs={"rows": _ROWS[original.is_long], "lang": self.language}),
            )

    @property
    def sections(self) -> list[tuple[str, Any]]:
        sections: dict[str, list[Any]] = {}
        for name, path in self.paths.items():
            sections.setdefault(section_of(path, self.terms), []).append(self[name])
        return [*sections.items()]

    def clean(self) -> None:
        """Set `changed`, the terms with the entered texts, which are validated as in the API and differ."""
        texts: dict[str, Any] = {}
        for name, path in self.paths.items():
            if text := self.cleaned_data.get(name):
                part = texts
                for step in path[:-1]:
                    part = part.setdefault(step, {})
                part[path[-1]] = text.replace("\r\n", "\n")
        translations = {**(self.terms.get("translations") or {}), self.language: texts}
        terms = {**self.terms, "translations": {key: value for key, value in translations.items() if value} or None}
        if terms == self.terms:
            self.add_error(None, "You changed no text, so nothing was stored.")
            return
        try:
            self.changed = OfferRequestSerializer.read(terms)
        except ValidationFailed as refusal:
            here = f"/translations/{self.language}"
            fields = {f"{here}/{'/'.join(map(escaped, path))}": name for name, path in self.paths.items()}
            details: Any = refusal.details or ()
            for detail in details:
                self.add_error(fields.get(str(detail["field"])), detail["message"])


def _translate(request: HttpRequest, offer: Offer, form: Any) -> str:
    with transaction.atomic():
        changed = replace_offer(offer.pk, actor=actor_of(request), terms=form.changed, now=timezone.now())
    return f"The offer now has version {changed.version}."


def _refusal(language: str, offer: Offer) -> str:
    count = sum(1 for _ in paths_of(originals_of(offer.terms(), language)))
    if not count:
        return "The offer has no text to translate."
    return "" if count <= FIELDS_MAX else f"The offer has more than {FIELDS_MAX} texts. Translate them with the API."


def _action(language: str) -> RecordAction:
    name = language_name(language)
    return RecordAction(
        name=f"texts-{language}",
        label=f"Edit the {name} texts",
        permission="credit.view_offer",
        run=_translate,
        form=type("TranslationFormOfLanguage", (TranslationForm,), {"language": language}),
        initial=lambda offer: {"terms": offer.terms()},
        refusal=lambda offer: _refusal(language, offer),
        seen=lambda offer: f"{offer.version}:{offer.is_active}",
        consequences=lambda offer: _consequences(language, offer),
    )


def _consequences(language: str, offer: Offer) -> list[str]:
    name = language_name(language)
    effect = f"Applicants who read {name} see these texts. For an empty field, they see the offer's own text."
    if language == language_of_terms(offer.terms()):
        effect = f"Applicants who read {name} see these words for the choices. The other {name} texts are in the offer."
    return [
        effect,
        f"This creates version {offer.version + 1} of the offer. Submitted applications keep their version.",
    ]


TRANSLATE = tuple(map(_action, LANGUAGES))
