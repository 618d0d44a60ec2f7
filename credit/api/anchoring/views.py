from django.utils import timezone
from rest_framework.response import Response

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import PUBLIC
from credit.anchoring import record_keys
from credit.api.anchoring.serializers import RecordKeysSerializer


class RecordKeyViewSet(ApiViewSet):
    """The public keys of the platform's records."""

    @endpoint(access=PUBLIC, answer=RecordKeysSerializer)
    def keys(self, request: ApiRequest) -> Response:  # noqa: ARG002
        """Return every key that signs what is anchored, past ones included, with its time.

        A new key is here for a minute before it signs. None is ever taken away.
        """
        keys = RecordKeysSerializer.represent_values([record_keys.published(now=timezone.now())])
        headers = {"Cache-Control": f"public, max-age={record_keys.PUBLISHED_MAX_AGE_SECONDS}"}
        return Response(keys, headers=headers)
