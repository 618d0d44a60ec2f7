from typing import Any

from django.utils import timezone

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.lifecycle import actor_of
from credit.api.requirements.serializers import RequirementsSerializer
from credit.applications.services import load_for
from credit.core.errors import READ_ERRORS, OfferNotFound
from credit.offers.services import load_offer
from credit.requirements import services


class ApplicationRequirementViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(access="applications:read", answer=RequirementsSerializer, errors=READ_ERRORS)
    def retrieve(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """List the requirements of an application.

        The response has all requirements of the offer, and the items that the application lacks.

        A draft has the requirements of the offer's current version. A submitted application has the requirements of the
        version at its submission. When the applicant gets the requirements of a draft, the API adds the required
        documents to the draft's checklist. The applicant can then upload files for these documents.
        """
        application = load_for(application_id, actor_of(request))
        is_own = application.consumer_id == request.user.pk
        return services.of_application(application, is_own=is_own, now=timezone.now())


class OfferRequirementViewSet(ApiViewSet):
    tag = "provider-offers"

    @endpoint(access="offers:read", answer=RequirementsSerializer, errors=(OfferNotFound,))
    def retrieve(self, request: ApiRequest, offer_id: str) -> dict[str, Any]:  # noqa: ARG002
        """List the requirements of an offer.

        An application to the offer must meet the requirements before its submission.
        """
        return services.of_offer(load_offer(offer_id))
