from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import LOG_IN
from config.core.errors import NotFound, ValidationFailed
from config.core.lifecycle import RecordNotEditable, SecondFactorRequired, actor_of
from identity.access import keys, serializers
from identity.access.keys import IssuedKey
from identity.access.models import ApiKey
from identity.access.serializers import IssuedKeySerializer


class ApiKeyViewSet(ApiViewSet):
    """The account's own API keys. You create, rotate, and revoke them after a log-in. If the account has a second
    factor, the log-in must have used it. A key can't create keys."""

    tag = "api-keys"

    @endpoint(access=LOG_IN, page=PageQuery, answer=serializers.ApiKeysPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[ApiKey]:
        """List API keys.

        The newest key is first. The list never contains the values of the keys.
        """
        return keys.keys_of(request.user)

    @endpoint(
        access=LOG_IN,
        body=serializers.ApiKeyRequestSerializer,
        answer=IssuedKeySerializer,
        status=201,
        idempotent=True,
        errors=(SecondFactorRequired, ValidationFailed),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> IssuedKey:
        """Create an API key.

        Only this response contains the key and its secret. A retry with the same Idempotency-Key returns the same
        response. If the account has a second factor, you must have logged in with it. If the account has 20 keys that
        are neither expired nor revoked, the API returns 400 `E1001`.
        """
        return keys.create_own_key(actor_of(request), **body, now=timezone.now())

    @endpoint(
        access=LOG_IN,
        body=serializers.KeyRotationRequestSerializer,
        answer=IssuedKeySerializer,
        idempotent=True,
        errors=(SecondFactorRequired, NotFound, RecordNotEditable, ValidationFailed),
    )
    def rotate(self, request: ApiRequest, key_id: str, body: dict[str, Any]) -> IssuedKey:
        """Rotate an API key.

        The new key has the same name and scopes, and is valid for 90 days. Only this response contains the new key and
        its secret. A retry with the same Idempotency-Key returns the same response.

        The old key stays valid for `grace_days` days, or until its own expiry if that is earlier. Until the old key
        expires, both keys count toward the limit of 20.
        """
        return keys.rotate_own_key(actor_of(request), key_id, grace_days=body["grace_days"], now=timezone.now())

    @endpoint(access=LOG_IN, idempotent=True, errors=(SecondFactorRequired, NotFound))
    def revoke(self, request: ApiRequest, key_id: str) -> None:
        """Revoke an API key.

        The revocation takes effect within 5 seconds. Idempotent.
        """
        keys.revoke_own_key(actor_of(request), key_id, now=timezone.now())
