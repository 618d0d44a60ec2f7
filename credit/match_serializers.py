"""Body, query and answer of matching offers with a person."""

from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    IdField,
    Int64Field,
    PageAnswer,
    PageField,
    PageQuery,
    RequestSerializer,
    TextField,
)
from credit.scoring.serializers import SaidFactsField
from credit.serializers import OfferAnswer

OFFERS_MAX = 20  # each may have a model of its own, and large ones take milliseconds


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
