"""The endpoint that says which offers fit a person."""

from typing import Any

from django.utils import timezone

from config.api.views import ApiRequest, ApiViewSet, endpoint
from credit import matching
from credit.match_serializers import MatchAnswer, MatchBody, MatchQuery
from credit.serializers import OfferAnswer


class MatchViewSet(ApiViewSet):
    tag = "provider-offers"

    @endpoint(access="offers:read", body=MatchBody, query=MatchQuery, answer=MatchAnswer)
    def create(self, request: ApiRequest, body: dict[str, Any], query: dict[str, Any]) -> dict[str, Any]:
        """Say which offers fit the caller, and why the others do not. No application is made, nothing is decided.

        The champions of the offers' scoring models compute what they would make of the caller's facts. The score is
        kept: the catalogue leaves out what it declines.
        """
        page = matching.match_offers(user_id=request.user.pk, **body, **query, now=timezone.now())
        shown = [
            {**OfferAnswer.represent(match.offer), "matched": not match.why_not, "why_not": match.why_not}
            for match in page["offers"]
        ]
        return {**page, "offers": shown}
