"""`GET /v1/requests`: the log of an account's own requests."""

from django.db.models import QuerySet
from django.utils import timezone

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY
from config.ops.models import RequestLine
from config.ops.request_log import lines_of
from config.ops.serializers import RequestQuery, RequestsPageSerializer


class RequestViewSet(ApiViewSet):
    """The account's API requests of the last 7 days."""

    tag = "requests"

    @endpoint(access=FIRST_PARTY, page=RequestQuery, answer=RequestsPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[RequestLine]:
        """List API requests.

        The list has the account's requests of the last 7 days, at most 100,000, newest first.

        A request appears about 1 s after its response. The list has requests with the account's keys and log-ins, and
        requests of apps on its behalf. The list also has requests that the account made as a partner for a customer.
        The list excludes requests without a valid credential, and requests to operations that require no credential.
        """
        return lines_of(request.user.pk, now=timezone.now())
