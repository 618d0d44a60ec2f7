"""`GET /v1/requests`: what became of an account's own calls."""

from django.db.models import QuerySet
from django.utils import timezone

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY
from config.ops.models import RequestLine
from config.ops.request_log import lines_of
from config.ops.serializers import RequestQuery, RequestsPageSerializer


class RequestViewSet(ApiViewSet):
    """The account's calls of the last seven days."""

    tag = "requests"

    @endpoint(access=FIRST_PARTY, page=RequestQuery, answer=RequestsPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[RequestLine]:
        """List API requests.

        The list has the account's requests of the last 7 days, at most 100,000, newest first.

        A call is here about a second after its answer. It was made with a key or a log-in of the account, by an app for
        it, or by the account as a partner for one of its customers. Calls that belong to no account are missing: those
        without a credential, or with a rejected one. An app reads none of it, nor does a key with scopes.
        """
        return lines_of(request.user.pk, now=timezone.now())
