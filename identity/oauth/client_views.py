from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework.decorators import action

from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import LOG_IN
from config.core.errors import NotFound, ValidationFailed
from config.core.lifecycle import RecordNotEditable, SecondFactorRequired, actor_of
from identity.access.models import OAuthClient
from identity.oauth import own_clients, serializers

_logged_in = partial(endpoint, access=LOG_IN)


class OAuthClientViewSet(ApiViewSet):
    """The OAuth clients that a logged-in account has registered."""

    lookup_url_kwarg = "client_id"
    tag = "oauth"

    @_logged_in(page=PageQuery, answer=serializers.OAuthClientsPageSerializer)
    def list(self, request: ApiRequest) -> Any:
        """List the account's OAuth clients, the newest first."""
        return own_clients.clients_of(request.user)

    @_logged_in(
        body=serializers.OAuthClientRequestSerializer,
        answer=serializers.IssuedClientSerializer,
        status=201,
        idempotent=True,
        errors=(SecondFactorRequired, ValidationFailed),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> OAuthClient:
        """Register an OAuth client.

        Only this response, and a retry with its Idempotency-Key, contain the secret. An account with a second factor
        must log in with it. An account has at most 20 clients.
        """
        return own_clients.create_own_client(actor_of(request), **body, now=timezone.now())

    @_logged_in(answer=serializers.OAuthClientSerializer, errors=(NotFound,))
    def retrieve(self, request: ApiRequest, client_id: str) -> OAuthClient:
        """Return a client, without its secret."""
        return own_clients.load_own_client(request.user, client_id)

    @_logged_in(
        body=serializers.OAuthClientChangeRequestSerializer,
        answer=serializers.OAuthClientSerializer,
        idempotent=True,
        errors=(SecondFactorRequired, NotFound, ValidationFailed),
    )
    def partial_update(self, request: ApiRequest, client_id: str, body: dict[str, Any]) -> OAuthClient:
        """Change a client's name, addresses or scopes. Consents of people stay as they were."""
        return own_clients.change_own_client(actor_of(request), client_id, changes=body, now=timezone.now())

    @action(detail=True, methods=["post"], url_path="rotate-secret")
    @_logged_in(
        answer=serializers.IssuedClientSerializer,
        idempotent=True,
        errors=(SecondFactorRequired, NotFound, RecordNotEditable),
    )
    def rotate_secret(self, request: ApiRequest, client_id: str) -> OAuthClient:
        """Give a client a new secret, which is in this answer alone; the old one ends at once."""
        return own_clients.rotate_own_secret(actor_of(request), client_id, now=timezone.now())

    @_logged_in(idempotent=True, errors=(SecondFactorRequired, NotFound))
    def destroy(self, request: ApiRequest, client_id: str) -> None:
        """Remove a client, with everything that people let it do."""
        own_clients.delete_own_client(actor_of(request), client_id, now=timezone.now())
