from django.http import HttpResponse
from django.utils import timezone

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import PUBLIC
from config.core.json_text import render_json
from credit.anchoring import record_keys
from credit.api.anchoring.serializers import RecordKeysSerializer


class RecordKeyViewSet(ApiViewSet):
    """The public keys that verify the signatures of the platform's records."""

    tag = "record-keys"

    @endpoint(access=PUBLIC, answer=RecordKeysSerializer)
    def keys(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """List the keys that sign anchored records.

        The list has the past, current, and next keys. Each key has its period of validity. Keys are never removed.

        The API publishes a new key at least one minute before it signs a record with the key. Only the first key is an
        exception.
        """
        keys = RecordKeysSerializer.represent_values([record_keys.published(now=timezone.now())])
        headers = {"Cache-Control": f"public, max-age={record_keys.PUBLISHED_MAX_AGE_SECONDS}"}
        return HttpResponse(render_json(keys), content_type="application/json", headers=headers)
