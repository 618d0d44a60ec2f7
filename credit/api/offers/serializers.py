"""Requests, queries, and responses of offers, their translations, the catalog, and matches."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field

from config.api import serializers
from config.core.names import skeleton
from credit.api import shapes
from credit.api.documents.serializers import TitleField
from credit.api.offers.loan_serializers import (
    CurrencyField,
    ExampleSerializer,
    JurisdictionRequestSerializer,
    RepresentativeExampleSerializer,
)
from credit.api.requirements.serializers import ApplicationSchemaField
from credit.api.scoring.serializers import SaidFactsField
from credit.core import profile, translations
from credit.core import risk_based_pricing as pricing_rules
from credit.core.applicant_schema import REQUIRABLE
from credit.core.applicants import LANGUAGES
from credit.core.apr import RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.countries import US_STATES
from credit.core.eu_credit import TERMS_TEXT_MAX_LENGTH, TEXT_MAX_LENGTH
from credit.models.offers import Offer
from credit.models.reports import KINDS


def _text(description: str, max_length: int) -> dict[str, Any]:
    return shapes.typed("string", description, minLength=1, maxLength=max_length)


def _map(description: str, item: dict[str, Any]) -> dict[str, Any]:
    return shapes.typed("object", description, additionalProperties=item)


def _object(about: str, **properties: Any) -> dict[str, Any]:
    return shapes.typed("object", about, properties=properties, additionalProperties=False)


_TRANSLATION = _object(
    "The offer's texts in a language. Each text is optional. The API rejects a translation of a text that the offer "
    "does not have.",
    name=_text("The name of the offer.", translations.NAME_MAX_LENGTH),
    description=_text("The description of the offer.", translations.OFFER_DESCRIPTION_MAX_LENGTH),
    application_schema=_object(
        "The texts of the schema.",
        title=_text("The title of the form.", profile.TITLE_MAX_LENGTH),
        description=_text("The introduction of the form.", profile.DESCRIPTION_MAX_LENGTH),
        properties=_map(
            "The texts of the fields, by the field's name.",
            _object(
                "The texts of a field.",
                title=_text("The label of the field.", profile.TITLE_MAX_LENGTH),
                description=_text("The help text of the field.", profile.DESCRIPTION_MAX_LENGTH),
                choices=_map(
                    "The texts to display for the values in `enum`, by the value as a string.",
                    _text("The text to display for the value.", profile.TITLE_MAX_LENGTH),
                ),
            ),
        ),
    ),
    required_documents=_map(
        "The translated titles of the documents, by the original title in `required_documents`.",
        _text("The title of the document.", translations.NAME_MAX_LENGTH),
    ),
    terms_text=_text("The lender's terms.", TERMS_TEXT_MAX_LENGTH),
    texts=_map("The texts for the rows of the European information form.", _text("The text.", TEXT_MAX_LENGTH)),
)


@extend_schema_field({
    "type": "object",
    "description": f"The translations by language, at most {translations.BYTES_MAX} bytes. In the offer's own "
    "`language`, only `choices` are allowed.",
    "properties": dict.fromkeys(LANGUAGES, _TRANSLATION),
    "additionalProperties": False,
})  # fmt: skip
class TranslationsField(serializers.FreeField):
    """The texts of an offer by language. `translations.check` validates them with the other terms."""


TERMS_MAX = 60
REQUIRED_DOCUMENTS_MAX = 20
MIN_AGE_MAX_YEARS = 120
# The maximum number of matched offers in a response. Each offer can have its own model, and scoring with a large model
# takes milliseconds.
OFFERS_MAX = 20


class OfferRequestSerializer(JurisdictionRequestSerializer):
    """The terms of an offer."""

    refuses_unknown = True
    requires = ("provider_id", "name", "product_type")
    provider_id = serializers.PrintableIdField(
        help_text="The lender's id, as a string of printable characters. In applications it is an integer."
    )
    name = serializers.NameField(
        help_text="The offer's public name. It must not look like the name of another active offer of the lender."
    )
    product_type = serializers.IdField()
    description = serializers.TextField(
        max_length=translations.OFFER_DESCRIPTION_MAX_LENGTH,
        help_text="The description to display to applicants. Null means empty.",
    )
    apr_min_percent = serializers.NumberField(min_value=0, max_value=RATE_MAX_PERCENT)
    apr_max_percent = serializers.NumberField(min_value=0, max_value=RATE_MAX_PERCENT)
    loan_amount_min_cents = serializers.Int64Field(min_value=0)
    loan_amount_max_cents = serializers.Int64Field(min_value=0)
    term_options_months = serializers.ListField(
        child=serializers.Int32Field(min_value=1, max_value=TERM_MAX_MONTHS), max_length=TERMS_MAX
    )
    nationwide = serializers.FlagField()
    included_states = serializers.ListField(child=serializers.IdField(), max_length=60)
    excluded_states = serializers.ListField(child=serializers.IdField(), max_length=60)
    customer_segment = serializers.IdField()
    blockscore_model_id = serializers.Int64Field()
    ab_test_variant = serializers.IdField()
    ab_test_allocation = serializers.Int32Field(min_value=0, max_value=100)
    application_schema = ApplicationSchemaField(
        help_text="The schema of `application_data`. Null if any data is allowed."
    )
    required_documents = serializers.ListField(
        child=TitleField(),
        max_length=REQUIRED_DOCUMENTS_MAX,
        help_text="The documents that an application requires before its submission. Null or empty if no documents are "
        "required.",
    )
    applicant_requires = serializers.ListField(
        child=serializers.OneOfField(REQUIRABLE),
        max_length=len(REQUIRABLE),
        help_text="The required fields of each applicant. If the list is not empty, applications require `applicants`. "
        "Null or empty if no fields are required.",
    )
    risk_based_pricing = serializers.OneOfField(
        pricing_rules.METHODS,
        help_text="The credit-pricing notice that applicants with a consumer report receive before they accept (12 CFR "
        "1022.70 to 1022.75). `notice`: a risk-based pricing notice, if the applicant's rate is not the offer's "
        "`apr_min_percent`. `score_disclosure`: a disclosure of the credit score, at every rate. `not_applicable`: no "
        "notice. Null means `notice`. Offers with `jurisdiction` `eu` have no credit-pricing notices.",
    )
    risk_based_pricing_reason = serializers.OneOfField(
        pricing_rules.REASONS,
        help_text="Why no notice is required. Required if `risk_based_pricing` is `not_applicable`. Otherwise null.",
    )
    reports = serializers.ListField(
        child=serializers.OneOfField(KINDS),
        max_length=len(KINDS),
        help_text="The kinds of reports (`credit`, `income`) that the platform requests about the first applicant at "
        "the submission, if the scoring model reads `report.…`. The platform computes the score after all reports "
        "have ended, or after 24 hours. Null or empty if no reports are requested.",
    )
    min_age = serializers.Int32Field(
        min_value=1,
        max_value=MIN_AGE_MAX_YEARS,
        help_text="The minimum age of each applicant, in years, on the current date at the applicant's address. If "
        "set, `date_of_birth` is required. If null, applicants who state a date of birth must be at least 18.",
    )

    language = serializers.OneOfField(LANGUAGES, help_text="The language of the offer's texts. Null means `en`.")
    translations = TranslationsField(
        help_text="The offer's texts in other languages, by language. Applicants read the texts in their language. A "
        "text without a translation is displayed in the offer's language. Null if there is none."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for low, high in (("apr_min_percent", "apr_max_percent"), ("loan_amount_min_cents", "loan_amount_max_cents")):
            if attrs[low] is not None and attrs[high] is not None and attrs[low] > attrs[high]:
                raise serializers.ValidationError({low: [f"Must not be greater than `{high}`."]})
        for name in ("included_states", "excluded_states"):
            if unknown := sorted(set(attrs[name] or ()) - US_STATES):
                raise serializers.ValidationError({name: [f"Not a US state or territory code: {', '.join(unknown)}."]})
        if both := sorted(set(attrs["included_states"] or ()) & set(attrs["excluded_states"] or ())):
            raise serializers.ValidationError(
                {"excluded_states": [f"`excluded_states` must not overlap `included_states`: {', '.join(both)}."]}
            )
        has_states = bool(attrs["included_states"] or attrs["excluded_states"])
        if attrs["nationwide"] is has_states:
            message = (
                "If you send `included_states` or `excluded_states`, it must be false or null."
                if has_states
                else "If you send neither `included_states` nor `excluded_states`, it must be true or null."
            )
            raise serializers.ValidationError({"nationwide": [message]})
        has_reason = attrs["risk_based_pricing_reason"] is not None
        if has_reason is not (attrs["risk_based_pricing"] == pricing_rules.NOT_APPLICABLE):
            message = "Required if `risk_based_pricing` is `not_applicable`. Otherwise, it must be null."
            raise serializers.ValidationError({"risk_based_pricing_reason": [message]})
        for name in ("required_documents", "applicant_requires", "reports"):
            _check_names(attrs[name] or (), name)
        translations.check(attrs)
        return super().validate(attrs)


def _check_names(names: Sequence[str], member: str) -> None:
    """Raise ValidationError with the position of a name that equals or resembles an earlier name."""
    seen: set[str] = set()
    for number, name in enumerate(map(skeleton, names)):
        if name in seen:
            raise serializers.ValidationError({f"{member}/{number}": ["Must not be listed twice."]})
        seen.add(name)


class OfferSerializer(serializers.ModelResponseSerializer):
    """A lender's offer."""

    id = serializers.TextField(help_text="The offer's id.")
    term_options_months = serializers.ListField(child=serializers.Int32Field(), allow_null=True)
    included_states = serializers.ListField(child=serializers.TextField(), allow_null=True)
    excluded_states = serializers.ListField(child=serializers.TextField(), allow_null=True)
    required_documents = serializers.ListField(child=serializers.TextField(), allow_null=True)
    applicant_requires = serializers.ListField(child=serializers.TextField(), allow_null=True)
    reports = serializers.ListField(child=serializers.TextField(), allow_null=True)
    jurisdiction = serializers.TextField(
        source="conventions.jurisdiction", help_text="The law that the offer follows: `us` or `eu`."
    )
    currency = serializers.TextField(
        source="conventions.currency",
        help_text="The ISO 4217 code of the currency of all amounts, which are in its minor unit.",
    )
    example = ExampleSerializer(allow_null=True)
    texts = serializers.DictField(child=serializers.TextField(), allow_null=True)

    class Meta:
        model = Offer
        fields = [
            "id", "provider_id", "name", "description", "product_type", "is_active", "version", "created_at",
            "updated_at", *Offer.TERMS[3:],
        ]  # fmt: skip
        extra_kwargs = {
            "application_schema": {"shape": shapes.OBJECT},
            "translations": {"shape": shapes.OBJECT},
            "created_at": {"allow_null": True},
            "updated_at": {"allow_null": True},
            "apr_min_percent": {"min_value": 0, "max_value": RATE_MAX_PERCENT},
            "apr_max_percent": {"min_value": 0, "max_value": RATE_MAX_PERCENT},
        }


class OfferQuery(serializers.QuerySerializer):
    """The lender of the offers."""

    refuses_unknown = True

    provider_id = serializers.PrintableIdField(help_text="The id of the offers' lender.")
    include_inactive = serializers.QueryFlagField(
        default=False, help_text="Whether to include the inactive offers that you created."
    )
    offset = serializers.PageField(
        min_value=0,
        default=0,
        help_text="The number of offers to skip. If a response has the header `X-Truncated`, add the number of its "
        "offers for the next page.",
    )


_CURRENCY = (
    "The ISO 4217 code of the offers' currency. Default: USD if you send `amount_cents`, otherwise all currencies."
)
_STATE = (
    "The two-letter code of a US state or territory, in capitals. The filter excludes offers that are not available in "
    "this state or territory, and offers with `jurisdiction` `eu`."
)


class CatalogueQuery(serializers.PageQuery):
    """The filters of the catalog."""

    product_type = serializers.IdField(
        required=False, help_text="Only offers of this kind of credit, such as `personal_loan`."
    )
    state = serializers.OneOfField(sorted(US_STATES), required=False, help_text=_STATE)
    amount_cents = serializers.QueryInt64Field(
        min_value=0, required=False, help_text="Only offers with loans of this amount, in the currency's minor unit."
    )
    currency = CurrencyField(required=False, help_text=_CURRENCY)
    segment = serializers.IdField(
        required=False,
        help_text="Only offers for this customer segment, and offers without a segment. If the credential can read "
        "scores, the API ignores this parameter for offers whose model has segments and has scored the caller. For "
        "these offers, the API uses the segment of the caller's score.",
    )
    explain = serializers.QueryFlagField(
        default=False,
        help_text="Whether the response also has the newest 1,000 excluded offers, each with the rule that excludes "
        "it.",
    )


class AdvertisedOfferSerializer(OfferSerializer):
    """An offer, with the fields that must accompany every EU offer that applicants see."""

    warning = serializers.TextField(
        allow_null=True,
        help_text="The warning of Directive (EU) 2023/2225, Article 8. Null for an offer with `jurisdiction` `us`.",
    )
    representative_example = RepresentativeExampleSerializer(
        allow_null=True,
        help_text="The representative example of an EU offer. Null for other offers, and for an offer without an "
        "`example`. Also null if the annual percentage rate of the example is out of range.",
    )
    personalized = serializers.TextField(
        allow_null=True,
        help_text="The statement that automated processing personalizes the offer (Article 13). Null for an offer "
        "without a scoring model, and for an offer with `jurisdiction` `us`.",
    )


_ADVERTISING = ("warning", "representative_example", "personalized")


class CatalogueItemSerializer(AdvertisedOfferSerializer):
    """An offer for this caller."""

    offer_id = serializers.Int64Field(source="pk", help_text="The offer's id, as a number.")
    variant = serializers.TextField(
        source="ab_test_variant",
        allow_null=True,
        help_text="The variant of the A/B test that the caller gets. Null if there is no test.",
    )

    class Meta(OfferSerializer.Meta):
        fields = [*OfferSerializer.Meta.fields, "offer_id", "variant", *_ADVERTISING]


class HiddenSerializer(serializers.JsonPartSerializer):
    """An offer that the catalog excludes, and the reason."""

    offer_id = serializers.Int64Field(help_text="The offer's id, as a number.")
    rule = serializers.TextField(
        help_text="The first rule that the offer does not meet: `product_type`, `state`, `currency`, `amount`, "
        "`score`, `segment`, or `inactive_variant`."
    )


class CatalogueSerializer(serializers.PageSerializer):
    """A page of the catalog."""

    items = CatalogueItemSerializer(many=True, help_text="The offers, newest first.")
    hidden = HiddenSerializer(
        many=True,
        required=False,
        help_text="The newest 1,000 excluded offers. Only responses to `explain=true` have this field.",
    )


class MatchQuery(serializers.PageQuery):
    """The page of active offers."""

    limit = serializers.PageField(min_value=1, max_value=OFFERS_MAX, default=OFFERS_MAX)


class MatchRequestSerializer(serializers.RequestSerializer):
    """The requested loan, and facts about the applicant."""

    requires = ()
    state = serializers.OneOfField(
        sorted(US_STATES),
        help_text="The two-letter code of a US state or territory, in capitals. Offers with `jurisdiction` `eu` match "
        "no state. Null for any state.",
    )
    amount_cents = serializers.Int64Field(
        min_value=0, help_text="The requested amount, in the currency's minor unit. Null for any amount."
    )
    currency = CurrencyField(help_text=f"{_CURRENCY} Null means the default.")
    facts = SaidFactsField(
        default=dict,
        help_text="A flat object with facts below `application_data`, such as `application_data.monthly_income_cents`. "
        "The API accepts no other facts.",
    )


class MatchedOfferSerializer(AdvertisedOfferSerializer):
    """An offer, and whether it matches."""

    matched = serializers.FlagField(help_text="Whether the offer matches.")
    why_not = serializers.ListField(
        child=serializers.TextField(),
        help_text="A sentence for each reason why the offer does not match. Empty if it matches.",
    )

    class Meta(OfferSerializer.Meta):
        fields = [*OfferSerializer.Meta.fields, "matched", "why_not", *_ADVERTISING]


class MatchSerializer(serializers.PageSerializer):
    """A page of offers, and whether each one matches."""

    offers = MatchedOfferSerializer(
        many=True,
        help_text="The active offers, newest first, including those that do not match. A/B variants for other accounts "
        "are excluded.",
    )
