"""The admin of offers, and the forms with which a lender's owner translates the texts of an offer."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from config.backoffice.consoles import console_of
from config.backoffice.forms import SeenForm
from config.backoffice.html import NAMED_VALUES, NOTHING, chip, column, record_link, table, words
from config.backoffice.html import title_of as field_title
from config.backoffice.people import person_name
from config.backoffice.records import NamedRecords, RecordAction
from config.backoffice.transitions import actor_of
from config.core.currencies import percent_in_words
from config.core.errors import ValidationFailed
from config.core.json_text import escaped
from credit.api.offers.serializers import OfferRequestSerializer
from credit.console.forms import language_name
from credit.console.names import lender_name
from credit.console.offer_forms import CHANGE, DEACTIVATE, LAWS, MAKE
from credit.core.applicants import LANGUAGES
from credit.core.figures import money
from credit.core.jurisdictions import Conventions
from credit.core.profile import members_of, title_of
from credit.core.translations import Original, language_of_terms, originals_of
from credit.models import Offer, ProviderMember
from credit.models.scoring import ScoringModel
from credit.offers.providers import role_of
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
    """Yield each text of a translation, or of an offer's original texts, with its path."""
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


def translations_in_brief(terms: Mapping[str, Any]) -> dict[str, dict[str, str]]:
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
        """Set `changed` to the terms with the entered texts.

        These terms must differ from the stored terms, and be valid in the API.
        """
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


# The form of an offer has the same names.
_RATES = {"apr_min_percent": "Lowest interest rate", "apr_max_percent": "Highest interest rate"}


def in_brief(terms: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the terms that are set, with readable names. A schema is displayed as the titles of its fields."""
    shown = {**terms}
    if schema := shown.get("application_schema"):
        shown["application_schema"] = [title_of(name, member) for name, member in schema["properties"].items()]
    if shown.get("translations"):
        shown["translations"] = translations_in_brief(terms)
    if language := shown.get("language"):
        shown["language"] = language_name(language)
    conventions = Conventions.of(terms)
    return [_figure(name, value, conventions) for name, value in shown.items() if value not in (None, "")]


def _figure(name: str, value: Any, conventions: Conventions) -> tuple[str, Any]:
    """Return a term's readable name and value. Amounts have a currency, and percentages have two decimals."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if is_number and name.endswith("_cents"):
        return field_title(name), money(int(value), conventions.shown_currency)
    if is_number and name.endswith("_percent"):
        return _RATES.get(name) or field_title(name), percent_in_words(f"{value:.2f}")
    if name == "jurisdiction":
        return "Law", LAWS.get(value, value)
    if name == "blockscore_model_id":
        model_name = ScoringModel.objects.filter(pk=value).values_list("name", flat=True).first()
        return "Scoring model", record_link("credit_scoringmodel", value, model_name or f"Model {value}")
    return field_title(name), words(value) if name in NAMED_VALUES else value


@admin.register(Offer)
class OfferAdmin(NamedRecords):
    list_display = ("name", "state", "credit_kind", "lender", "amount", "rate", "months", "created_by", "updated_at")
    list_filter = ("is_active",)
    list_select_related = ("owner", "provider")
    search_fields = ("=provider__id",)
    search_help_text = "Words of a lender's name, or its id"
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("id", "state", "name", "description", "credit_kind", "lender", "created_by", "version")}),
        ("Terms", {"fields": ("terms",)}),
        ("When", {"fields": ("created_at", "updated_at")}),
    )

    credit_kind = column(words, "product_type", "kind of credit", ordering="product_type")
    lender = column(lender_name, "provider", "lender", ordering="provider_id")
    created_by = column(person_name, "owner", "created by", ordering="owner")
    state = column(
        lambda is_active: chip("active" if is_active else "inactive"), "is_active", "state", ordering="is_active"
    )

    @admin.display(description="amount", ordering="loan_amount_max_cents")
    def amount(self, record: Offer) -> str:
        currency = record.conventions.shown_currency
        limits = (record.loan_amount_min_cents, record.loan_amount_max_cents)
        return _range(money(limit, currency) for limit in limits if limit is not None)

    @admin.display(description="interest rate", ordering="apr_min_percent")
    def rate(self, record: Offer) -> str:
        limits = (record.apr_min_percent, record.apr_max_percent)
        return _range(percent_in_words(f"{limit:.2f}") for limit in limits if limit is not None)

    @admin.display(description="terms in months")
    def months(self, record: Offer) -> str:
        return ", ".join(map(str, record.term_options_months or ())) or "line of credit"

    record_actions = (CHANGE, *TRANSLATE, DEACTIVATE)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Omit the lender from the list for members of a single lender."""
        names = super().get_list_display(request)
        console = console_of(request.user)
        return [name for name in names if name != "lender" or console is None or len(console.seats) > 1]

    def actions_of(self, request: HttpRequest, record: Offer) -> list[RecordAction]:
        """Return the actions if the user created the offer and is an owner of the lender."""
        is_own = record.owner_id == request.user.pk
        if not is_own or role_of(record.provider, request.user) != ProviderMember.OWNER:
            return []
        return super().actions_of(request, record)

    def page_of(self, request: HttpRequest, record: Offer) -> dict[str, Any]:
        """Add the reason why an owner of the lender can't change a colleague's offer."""
        page = super().page_of(request, record)
        console = console_of(request.user)
        if console is None or not console.owns(record.provider_id) or record.owner_id == request.user.pk:
            return page
        reason = f"Only {person_name(record.owner)}, who created the offer, can change or deactivate it."
        return {**page, "notices": [*page["notices"], reason]}

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show a button to create an offer to owners of a lender. The lender's page has the same action."""
        console = console_of(request.user)
        owned = [seat.provider_id for seat in console.seats if seat.owns] if console else []
        tools = {"Create an offer": reverse("admin:credit_provider_do", args=[owned[0], MAKE.name])} if owned else {}
        return super().changelist_view(request, {"tools": tools.items(), **(extra_context or {})})

    @admin.display(description="terms")
    def terms(self, record: Offer) -> SafeString | str:
        shown = {"name", "description", "product_type", "provider_id"}
        return table(in_brief({name: value for name, value in record.terms().items() if name not in shown}))


def _range(limits: Any) -> str:
    return " to ".join(dict.fromkeys(limits)) or NOTHING
