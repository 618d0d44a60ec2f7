"""Models of lenders, of their members and invitations, and of their offers."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.core.errors import ValidationFailed
from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.core.names import shows_nothing
from config.core.search_words import as_column, words_of
from credit.core import agencies, eu_credit, examples, jurisdictions, quotes
from credit.core import risk_based_pricing as pricing_rules
from credit.core.logos import Logo
from credit.core.translations import text_to_search


class Provider(models.Model):
    """A lender. The account that owns the lender is also a member.

    Members review the applications with this lender's ID. Applications that are older than the lender belong to a
    lender of another marketplace, so members can't read them.
    """

    id = models.CharField(
        primary_key=True, max_length=255, help_text="The lender's id, as a string. In applications it is an integer."
    )
    name = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text="The lender's name. If the first use of the id created the lender, the name is empty until it is "
        "set.",
    )
    name_key = models.CharField(  # noqa: DJ001  null without a name, or if an older lender's name looks the same
        max_length=64, null=True, unique=True, editable=False
    )
    address = models.CharField(
        max_length=500,
        blank=True,
        default="",
        help_text="The lender's postal address, for notices. Empty if it is not set.",
    )
    agency = models.CharField(  # noqa: DJ001  because the API returns null, not ""
        max_length=8,
        null=True,
        choices=agencies.CHOICES,
        help_text="The Federal agency for notices. Null means the installation's default.",
    )
    phone = models.CharField(  # noqa: DJ001
        max_length=64, null=True, help_text="The lender's telephone number. Null if there is none."
    )
    email = models.CharField(max_length=254, null=True, help_text="The lender's email address. Null if there is none.")  # noqa: DJ001
    register_number = models.CharField(  # noqa: DJ001
        max_length=255,
        null=True,
        help_text="The register and the number of the lender's registration. Null if there is none.",
    )
    supervisor = JsonTextField(null=True, help_text="The authority that supervises the lender; null if there is none.")
    redress = JsonTextField(null=True, help_text="The out-of-court dispute resolution body; null if there is none.")
    debt_advice = models.CharField(  # noqa: DJ001
        max_length=1000, null=True, help_text="Where borrowers get debt advice. Null if there is none."
    )
    logo_sha256 = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001  null without a logo
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="providers",
        help_text="The `user_id` of the account that the lender belongs to.",
    )
    members: Any = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="ProviderMember", related_name="provider_memberships"
    )
    created_at = models.DateTimeField(help_text="When the lender was created (UTC).")

    def __str__(self) -> str:
        return self.id

    @property
    def logo_path(self) -> str:
        """Return the path of the logo on this host, or "" without a logo."""
        return reverse("logo", args=[self.logo_sha256]) if self.logo_sha256 else ""

    @property
    def logo_url(self) -> str | None:
        return f"{settings.APP_URL}{self.logo_path}" if self.logo_sha256 else None

    @property
    def lacks_for_notices(self) -> list[str]:
        return [member for member in ("name", "address") if shows_nothing(getattr(self, member))]

    @property
    def lacks_for_eu_credit(self) -> list[str]:
        """The missing fields of this lender that are required for an offer under Directive (EU) 2023/2225."""
        return [*self.lacks_for_notices, *(name for name in eu_credit.LENDER_FIELDS if not getattr(self, name))]


class ProviderMember(models.Model):
    """An account that acts on behalf of a lender within its role. Each role includes the rights of all later roles."""

    OWNER, REVIEWER, READER = "owner", "reviewer", "reader"
    ROLES = (OWNER, REVIEWER, READER)
    DECIDING = (OWNER, REVIEWER)

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)

    role = models.CharField(
        max_length=16,
        default=REVIEWER,
        choices=[
            (OWNER, "owner: decides, makes offers, says who acts for it"),
            (REVIEWER, "reviewer: reads and decides"),
            (READER, "reader: reads"),
        ],
        help_text="The role: `owner`, `reviewer`, or `reader`. An owner has all rights of a reviewer, and a reviewer "
        "all rights of a reader.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "user"], name="credit_provider_member"),
            models.CheckConstraint(condition=Q(role__in=("owner", "reviewer", "reader")), name="credit_member_role"),
        ]

    @property
    def decides(self) -> bool:
        return self.role in self.DECIDING

    @property
    def is_owner(self) -> bool:
        return self.user_id == self.provider.owner_id

    def __str__(self) -> str:
        return f"{self.user} for {self.provider_id}"


class ProviderInvitation(models.Model):
    """A lender's invitation of a user name. An account that accepts becomes a member of the lender.

    Invitations of unknown user names are also stored, to prevent account enumeration. `user` is the account that had
    the user name at the time of the invitation.
    """

    VALID_FOR = timedelta(days=7)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    username = models.CharField(max_length=255)
    role = models.CharField(
        max_length=16, default=ProviderMember.REVIEWER, help_text="The role that the invitation grants."
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False,
        help_text="The owner who invited. Null in rows of a server of version 1.0.",
    )  # fmt: skip
    invited_at = models.DateTimeField(help_text="When the invitation was created (UTC).")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "username"], name="credit_provider_invitation")]

    def __str__(self) -> str:
        return f"{self.username} for {self.provider_id}"

    @property
    def expires_at(self) -> datetime:
        return self.invited_at + self.VALID_FOR


class Offer(models.Model):
    """A lender's offer. Percentages are per year, amounts are cents, terms are months."""

    provider = models.ForeignKey(
        Provider,
        on_delete=models.PROTECT,
        related_name="offers",
        db_index=False,
        help_text="The id of the offer's lender, as a string. In applications it is an integer.",
    )
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="offers")
    name = models.CharField(max_length=255, help_text="The name of the offer.")
    name_key = models.CharField(  # noqa: DJ001  null if inactive, or if an older offer has a name that looks the same
        max_length=64, null=True, unique=True, editable=False
    )
    description = models.TextField(blank=True, default="", help_text="The description of the offer. Empty if none.")
    product_type = models.CharField(max_length=255, help_text="The kind of credit, such as `personal_loan`.")
    apr_min_percent = models.FloatField(
        null=True, help_text="The lowest rate per year: 7.5 is 7.5 %. Null if it is not set."
    )
    apr_max_percent = models.FloatField(
        null=True, help_text="The highest rate per year: 24.99 is 24.99 %. Null if it is not set."
    )
    loan_amount_min_cents = models.BigIntegerField(
        null=True, help_text="The smallest loan, in the currency's minor unit. Null if there is no minimum."
    )
    loan_amount_max_cents = models.BigIntegerField(
        null=True, help_text="The largest loan, in the currency's minor unit. Null if there is no maximum."
    )
    term_options_months = JsonTextField(
        null=True, help_text="The terms that an applicant can choose, in months. Null or empty for a line of credit."
    )
    nationwide = models.BooleanField(
        null=True,
        help_text="True if the offer is available in all US states. Otherwise, `included_states` and `excluded_states` "
        "determine the states. Null if it is not set.",
    )
    included_states = JsonTextField(
        null=True,
        help_text="The US states in which the offer is available, as two-letter codes. Null or empty for all states "
        "that are not excluded.",
    )
    excluded_states = JsonTextField(
        null=True,
        help_text="The US states in which the offer is not available, as two-letter codes. Null or empty if there are "
        "none.",
    )
    customer_segment = models.CharField(  # noqa: DJ001  because the API returns null
        max_length=255, null=True, help_text="The customer segment that the offer is for. Null for all."
    )
    blockscore_model_id = models.BigIntegerField(
        null=True, help_text="The id of the lender's scoring model for the applications. Null if there is none."
    )
    ab_test_variant = models.CharField(  # noqa: DJ001
        max_length=255, null=True, help_text="The variant of an A/B test. Null if there is none."
    )
    ab_test_allocation = models.IntegerField(
        null=True, help_text="The share of accounts that get the tested offer, in percent. Null for all accounts."
    )
    # Applications to the offer must meet these requirements (`credit.requirements`).
    application_schema = JsonTextField(
        null=True, help_text="The JSON Schema of `application_data`. Null if any data is allowed."
    )
    required_documents = JsonTextField(
        null=True, help_text="The documents that an application requires. Null or empty if no documents are required."
    )
    applicant_requires = JsonTextField(
        null=True, help_text="The required fields of each applicant. Null or empty if no fields are required."
    )
    risk_based_pricing = models.CharField(  # noqa: DJ001  because the API returns null
        max_length=16,
        null=True,
        choices=[(method, method) for method in pricing_rules.METHODS],
        help_text="The notice that applicants with a consumer report receive before they accept: `notice`, "
        "`score_disclosure`, or `not_applicable`. Null means `notice`. Applicants for an offer with `jurisdiction` "
        "`eu` receive no notice.",
    )
    risk_based_pricing_reason = models.CharField(  # noqa: DJ001
        max_length=32,
        null=True,
        choices=list(pricing_rules.REASONS.items()),
        help_text="Why `risk_based_pricing` is `not_applicable`. Otherwise null.",
    )
    reports = JsonTextField(
        null=True,
        help_text="The kinds of reports that the platform requests at the submission, if the scoring model reads "
        "`report.…`. Null or empty if no reports are requested.",
    )
    min_age = models.IntegerField(
        null=True,
        help_text="The minimum age of each applicant, in years. If set, `date_of_birth` is required. If null, "
        "applicants who state a date of birth must be at least 18.",
    )
    # These fields are the offer's law (`credit.core.jurisdictions`), and the data that Directive (EU) 2023/2225
    # requires.
    jurisdiction = models.CharField(  # noqa: DJ001  null for offers that are older than this field
        max_length=2,
        null=True,
        choices=[(name, name) for name in jurisdictions.JURISDICTIONS],
        help_text="The law that the offer follows: `us` or `eu`.",
    )
    regime = models.CharField(  # noqa: DJ001  because the API returns null
        max_length=16,
        null=True,
        choices=[(name, name) for name in eu_credit.REGIMES],
        help_text="Whether Directive (EU) 2023/2225 applies: `ccd2`, `ccd2_small` (a lighter national regime), or "
        "`none`. Null with `jurisdiction` `us`.",
    )
    regime_reason = models.CharField(  # noqa: DJ001
        max_length=500,
        null=True,
        help_text="Why the regime applies, such as `renovation` for unsecured credit above EUR 100,000. Null if there "
        "is none.",
    )
    currency = models.CharField(  # noqa: DJ001
        max_length=3, null=True, help_text="The ISO 4217 code of every amount. Amounts are in its minor unit."
    )
    day_count = models.CharField(  # noqa: DJ001
        max_length=8,
        null=True,
        choices=[(name, name) for name in jurisdictions.DAY_COUNTS],
        help_text="The day-count convention: the number of days in a year for daily interest. `act_365` is 365, "
        "`30_360` is 360. Null with `jurisdiction` `us`.",
    )
    fee_financed = models.BooleanField(
        null=True,
        help_text="Whether the lender deducts the fee from the payout. If false, the borrower pays the fee separately. "
        "Null with `jurisdiction` `us`.",
    )
    example = JsonTextField(null=True, help_text="The credit of the representative example. Null if there is none.")
    apr_cap = models.FloatField(
        null=True, help_text="The highest annual percentage rate that the law allows. Null if there is none."
    )
    terms_text = models.TextField(  # noqa: DJ001
        null=True, help_text="The lender's terms in words, for applicants. Null if there is none."
    )
    texts = JsonTextField(
        null=True, help_text="The lender's texts for the rows of the European information form. Null if there is none."
    )
    language = models.CharField(  # noqa: DJ001  because the API returns null
        max_length=2,
        null=True,
        choices=settings.LANGUAGES,
        help_text="The language of the offer's texts: `en`, `es`, or `de`. Null means `en`.",
    )
    translations = JsonTextField(
        null=True,
        help_text="The offer's texts in other languages, by language. Applicants read the texts in their language. "
        "Null if there is none.",
    )
    is_active = models.BooleanField(
        default=True, help_text="Whether the offer is active. False once it is deactivated."
    )
    # The format is that of `search_words.as_column`.
    search_words = models.TextField(default="", editable=False)
    version = models.IntegerField(
        default=1, help_text="The version of the offer's terms, from 1. Each replacement creates the next version."
    )
    created_at = models.DateTimeField(help_text="When the offer was created (UTC).")
    updated_at = models.DateTimeField(help_text="When the offer was last changed (UTC).")

    # A request body can contain these fields, and a new version replaces them.
    TERMS = (
        "name", "description", "product_type", "apr_min_percent", "apr_max_percent", "loan_amount_min_cents",
        "loan_amount_max_cents", "term_options_months", "nationwide", "included_states", "excluded_states",
        "customer_segment", "blockscore_model_id", "ab_test_variant", "ab_test_allocation",
        "application_schema", "required_documents", "applicant_requires", "risk_based_pricing",
        "risk_based_pricing_reason", "reports", "min_age", "jurisdiction", "regime", "regime_reason", "currency",
        "day_count", "fee_financed", "example", "apr_cap", "terms_text", "texts", "language",
        "translations",
    )  # fmt: skip

    class Meta:
        indexes = [
            models.Index(fields=["provider", "-id"], name="credit_offer_provider"),
            models.Index(fields=["-id"], condition=Q(is_active=True), name="credit_offer_active"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.provider_id})"

    def save(self, **options: Any) -> None:
        self.search_words = self.words_in(self.provider_id, self.terms())
        super().save(**options)

    @staticmethod
    def words_in(provider_id: str, terms: Mapping[str, Any]) -> str:
        text = f"{text_to_search(terms)} {terms['product_type']} {provider_id}"
        return as_column(words_of(text))

    @property
    def conventions(self) -> jurisdictions.Conventions:
        return jurisdictions.Conventions.of(self.terms())

    @property
    def warning(self) -> str | None:
        """The warning of Directive (EU) 2023/2225, Art. 8, or None for offers under US law."""
        return gettext(quotes.WARNING) if self.conventions.is_eu else None

    @property
    def personalized(self) -> str | None:
        """The statement of Art. 13 for an EU offer with a scoring model, or None for other offers."""
        is_scored = self.conventions.is_eu and self.blockscore_model_id is not None
        return gettext(quotes.PERSONALIZED) if is_scored else None

    @property
    def representative_example(self) -> dict[str, Any] | None:
        """The representative example as of today. It is None under US law, or if the APR is out of range."""
        if not self.example or not self.conventions.is_eu:
            return None
        try:
            return examples.representative_example(self.terms(), today=timezone.now().date())
        except ValidationFailed:
            return None

    def terms(self) -> dict[str, Any]:
        return {"provider_id": self.provider_id, **{name: getattr(self, name) for name in self.TERMS}}


class ProviderLogo(models.Model):
    """The logo of a lender, exactly as its URL returns it."""

    provider = models.OneToOneField(Provider, on_delete=models.CASCADE, primary_key=True, related_name="+")
    media_type = models.CharField(max_length=32)
    sha256 = models.CharField(max_length=64, db_index=True)
    content = models.BinaryField()

    def __str__(self) -> str:
        return str(self.provider_id)

    @classmethod
    def set(cls, provider: Provider, logo: Logo | None) -> None:
        """Replace or remove a lender's logo, and set `provider.logo_sha256`. Requires a transaction."""
        cls.objects.filter(provider=provider).delete()
        provider.logo_sha256 = None
        if logo is not None:
            digest = provider.logo_sha256 = sha256(logo.content).hexdigest()
            cls.objects.create(provider=provider, media_type=logo.media_type, sha256=digest, content=logo.content)
