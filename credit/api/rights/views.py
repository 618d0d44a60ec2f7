from typing import Any

from django.utils import translation

from config.api import heavy
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY, PUBLIC
from config.core.lifecycle import actor_of
from credit.api.rights import serializers
from credit.applications.services import load_for
from credit.core.applicants import LANGUAGES
from credit.core.errors import READ_ERRORS, OfferNotFound
from credit.offers.services import load_offer
from credit.scoring.automation import describe_automation
from credit.scoring.explanation import explain


class AutomationViewSet(ApiViewSet):
    tag = "provider-offers"

    @endpoint(
        access=PUBLIC,
        query=serializers.LanguageQuery,
        answer=serializers.AutomationSerializer,
        errors=(OfferNotFound,),
    )
    def retrieve(self, request: ApiRequest, offer_id: str, query: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Get the automated processing of an offer.

        The response states whether a score is used, for what, which categories and sources of data it reads, and who
        reviews. It comes from the published version of the offer's scoring model. Show `before` to a person before they
        apply. The default language is English.
        """
        offer = load_offer(offer_id)
        with translation.override(query["language"] or LANGUAGES[0]):
            return describe_automation(offer)


class ExplanationViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(
        access=FIRST_PARTY,
        query=serializers.LanguageQuery,
        answer=serializers.ExplanationSerializer,
        errors=READ_ERRORS,
    )
    def retrieve(self, request: ApiRequest, application_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """Get the explanation of a decision.

        It is for the applicant and the lender's reviewers. It contains the role of the score, who decided, and what the
        applicant can do now. `inputs` have value, source, day, and points. `changes` would have led to a better
        outcome. Without a score, `automated` is `none`, and the score's fields are null.
        """
        application = load_for(application_id, actor_of(request))
        with heavy.slot(request):
            return explain(application, query["language"])
