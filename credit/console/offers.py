from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from config.backoffice.consoles import console_of
from config.backoffice.html import NAMED_VALUES, NOTHING, chip, column, record_link, table, words
from config.backoffice.html import title_of as field_title
from config.backoffice.people import person_name
from config.backoffice.records import NamedRecords, RecordAction
from config.core.currencies import percent_in_words
from credit.console.names import lender_name
from credit.console.offer_forms import CHANGE, DEACTIVATE, LAWS, MAKE
from credit.console.offer_translations import TRANSLATE
from credit.console.offer_translations import in_brief as translations_in_brief
from credit.console.text_language import language_name
from credit.core.figures import money
from credit.core.jurisdictions import Conventions
from credit.core.profile import title_of
from credit.models import Offer, ProviderMember
from credit.models.scoring import ScoringModel
from credit.offers.providers import role_of

# The names are those of the form of an offer.
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
        return "Scoring model", record_link("credit_scoringmodel", value, _name_of_model(value))
    return field_title(name), words(value) if name in NAMED_VALUES else value


def _name_of_model(pk: int) -> str:
    return ScoringModel.objects.filter(pk=pk).values_list("name", flat=True).first() or f"Model {pk}"


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
