"""Bodies, queries and answers of offers: making, quoting, listing and matching them."""

from datetime import date
from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    DayField,
    FlagField,
    IdField,
    Int32Field,
    Int64Field,
    NumberField,
    OneOfField,
    PageAnswer,
    PageField,
    PageQuery,
    QueryDecimalField,
    QueryFlagField,
    QueryInt64Field,
    QuerySerializer,
    RequestSerializer,
    ResponseSerializer,
    StrictListField,
    TextField,
)
from credit.quotes import AMOUNT_MAX_CENTS, METHODS
from credit.scoring.serializers import SaidFactsField
from credit.states import US_STATES

APR_MAX_PERCENT = 1000
TERM_MAX_MONTHS = 600
TERMS_MAX = 60
OFFERS_MAX = 20  # each may have a model of its own, and large ones take milliseconds


class OfferBody(RequestSerializer):
    """An offer, for creating and for replacing."""

    provider_id = IdField(help_text="The provider whose offer it is.")
    name = IdField(help_text="What people call the offer.")
    product_type = IdField()
    description = TextField(allow_null=True, default=None, help_text="For people to read; null is empty.")
    apr_min_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True, default=None)
    apr_max_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True, default=None)
    loan_amount_min_cents = Int64Field(min_value=0, allow_null=True, default=None)
    loan_amount_max_cents = Int64Field(min_value=0, allow_null=True, default=None)
    term_options_months: Any = StrictListField(
        child=Int32Field(min_value=1, max_value=TERM_MAX_MONTHS), max_length=TERMS_MAX, allow_null=True, default=None
    )
    nationwide = FlagField(allow_null=True, default=None)
    included_states: Any = StrictListField(child=IdField(), max_length=60, allow_null=True, default=None)
    excluded_states: Any = StrictListField(child=IdField(), max_length=60, allow_null=True, default=None)
    customer_segment = IdField(allow_null=True, default=None)
    blockscore_model_id = Int64Field(allow_null=True, default=None)
    ab_test_variant = IdField(allow_null=True, default=None)
    ab_test_allocation = Int32Field(min_value=0, max_value=100, allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for low, high in (("apr_min_percent", "apr_max_percent"), ("loan_amount_min_cents", "loan_amount_max_cents")):
            if attrs[low] is not None and attrs[high] is not None and attrs[low] > attrs[high]:
                raise serializers.ValidationError({low: [f"Must not be greater than {high}."]})
        for name in ("included_states", "excluded_states"):
            if unknown := sorted(set(attrs[name] or ()) - US_STATES):
                raise serializers.ValidationError({name: [f"Not a US state or territory code: {', '.join(unknown)}."]})
        if both := sorted(set(attrs["included_states"] or ()) & set(attrs["excluded_states"] or ())):
            raise serializers.ValidationError({"excluded_states": [f"Also included: {', '.join(both)}."]})
        return attrs


class OfferAnswer(ResponseSerializer):
    """A provider offer, with its terms."""

    id = TextField(help_text="The offer's id, as text.")
    provider_id = TextField()
    name = TextField()
    description = TextField()
    product_type = TextField()
    is_active = FlagField(help_text="Whether it is made: false once it was deactivated.")
    version = Int32Field(help_text="Counts from 1; every change of the offer makes the next.")
    created_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was made (UTC); null where that is not known."
    )
    updated_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was last changed (UTC); null where that is not known."
    )
    apr_min_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True)
    apr_max_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True)
    loan_amount_min_cents = Int64Field(allow_null=True)
    loan_amount_max_cents = Int64Field(allow_null=True)
    term_options_months: Any = StrictListField(child=Int32Field(), allow_null=True)
    nationwide = FlagField(allow_null=True)
    included_states: Any = StrictListField(child=TextField(), allow_null=True)
    excluded_states: Any = StrictListField(child=TextField(), allow_null=True)
    customer_segment = TextField(allow_null=True)
    blockscore_model_id = Int64Field(allow_null=True)
    ab_test_variant = TextField(allow_null=True)
    ab_test_allocation = Int32Field(allow_null=True)


class OfferQuery(QuerySerializer):
    """Which provider's offers."""

    provider_id = IdField(help_text="Whose offers.")
    include_inactive = QueryFlagField(default=False, help_text="Show the owner what was deactivated, too.")


class QuoteQuery(QuerySerializer):
    """The loan to quote."""

    amount_cents = QueryInt64Field(min_value=1, max_value=AMOUNT_MAX_CENTS, help_text="The loan, in cents.")
    term_months = QueryInt64Field(
        min_value=1, max_value=TERM_MAX_MONTHS, help_text="How many monthly payments there are."
    )
    apr_percent = QueryDecimalField(
        min_value=0,
        max_value=APR_MAX_PERCENT,
        default=None,
        help_text="The note rate, at most six digits after the point. Default: the offer's lowest.",
    )
    fee_cents = QueryInt64Field(min_value=0, default=0, help_text="The prepaid finance charge: less than the amount.")
    first_payment_on = DayField(
        default=None, help_text="After today (UTC), at most twelve months. Default: a month from today."
    )
    method = OneOfField(METHODS, default="us_appendix_j", help_text="How `apr_percent` of the answer is computed.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["fee_cents"] >= attrs["amount_cents"]:
            raise serializers.ValidationError({"fee_cents": ["Must be less than amount_cents."]})
        if attrs["first_payment_on"] is not None:
            attrs["first_payment_on"] = date.fromisoformat(attrs["first_payment_on"])
        return attrs


class InstalmentAnswer(ResponseSerializer):
    """One payment of a schedule."""

    number = Int32Field(help_text="Which payment it is, from 1.")
    due_on = serializers.DateField(help_text="The day on which it is due.")
    payment_cents = Int64Field(help_text="What is paid, in cents.")
    interest_cents = Int64Field(help_text="How much of it is interest, in cents.")
    principal_cents = Int64Field(help_text="Below zero when a long first period earns more than its payment.")
    balance_cents = Int64Field(help_text="What is owed after the payment.")


class QuoteAnswer(ResponseSerializer):
    """What a loan costs."""

    payment_cents = Int64Field(help_text="Of every payment but the last.")
    final_payment_cents = Int64Field(help_text="The last payment, in cents.")
    total_of_payments_cents = Int64Field(help_text="All payments together, in cents.")
    finance_charge_cents = Int64Field(help_text="All interest, and the prepaid fee.")
    amount_financed_cents = Int64Field(help_text="The amount less the prepaid fee.")
    apr_percent = NumberField(help_text="The annual percentage rate, to four digits after the point.")
    method = OneOfField(METHODS, help_text="How `apr_percent` was computed.")
    schedule = InstalmentAnswer(many=True, help_text="Every payment, the first first.")


class CatalogueQuery(PageQuery):
    """Filters of the catalogue."""

    product_type = IdField(required=False, help_text="Only this kind of credit, such as `personal_loan`.")
    state = IdField(required=False, help_text="A US two-letter code.")
    amount_cents = QueryInt64Field(min_value=0, required=False, help_text="Only offers that lend this much, in cents.")
    segment = IdField(required=False, help_text="Only what is for this segment of customers, or for everybody.")
    explain = QueryFlagField(default=False, help_text="Also say which offers were left out, and by which rule.")


class CatalogueItemAnswer(OfferAnswer):
    """An offer as a marketplace shows it to this caller."""

    offer_id = Int64Field(help_text="The offer's id, as a number.")
    variant = TextField(allow_null=True, help_text="The test in which the caller sees it; null outside of any.")


class HiddenAnswer(ResponseSerializer):
    """An offer that was left out, and why."""

    offer_id = Int64Field()
    rule = TextField(help_text="What kept it out, such as `state`, `amount` or `score`.")


class CatalogueAnswer(PageAnswer):
    """A page of the catalogue."""

    items = CatalogueItemAnswer(many=True, help_text="The newest offer first.")
    hidden = HiddenAnswer(many=True, required=False, help_text="Only with `explain=true`.")


class MatchQuery(PageQuery):
    """Which of the active offers."""

    limit = PageField(min_value=1, max_value=OFFERS_MAX, default=OFFERS_MAX)


class MatchBody(RequestSerializer):
    """What a person looks for, and what they would say in an application."""

    state = IdField(allow_null=True, default=None, help_text="A US two-letter code.")
    amount_cents = Int64Field(
        min_value=0, allow_null=True, default=None, help_text="The loan that is looked for, in cents; null for any."
    )
    facts = SaidFactsField(
        default=dict,
        help_text="Flat, below `application_data`: `application_data.monthly_income_cents`. All others are what the "
        "platform knows.",
    )


class MatchedOfferAnswer(OfferAnswer):
    """An offer, and whether it fits."""

    matched = FlagField(help_text="Whether it fits.")
    why_not: Any = serializers.ListField(child=TextField(), help_text="Why it does not fit, for a person to read.")


class MatchAnswer(PageAnswer):
    """A page of offers."""

    offers = MatchedOfferAnswer(many=True, help_text="Those that fit and those that do not.")
