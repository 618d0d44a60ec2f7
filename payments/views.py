"""Endpoints for fees and card payments: each translates, none decides."""

from typing import Any

from config.api.credentials import FIRST_PARTY
from config.api.views import ApiRequest, ApiViewSet, endpoint
from payments.fees import FeeQuote, quote_fee
from payments.serializers import FeeAnswer, FeeQuery, InvalidAmount


class FeeViewSet(ApiViewSet):
    """What a payment costs."""

    tag = "payments"

    @endpoint(access=FIRST_PARTY, query=FeeQuery, answer=FeeAnswer, errors=(InvalidAmount,))
    def quote(self, request: ApiRequest, query: dict[str, Any]) -> FeeQuote:  # noqa: ARG002
        """Quote the processing fee for an amount in cents."""
        return quote_fee(query["amount"])
