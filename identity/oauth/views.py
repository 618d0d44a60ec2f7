import json
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from oauthlib import oauth2
from rest_framework.decorators import action
from rest_framework.parsers import BaseParser
from rest_framework.response import Response

from config.api.errors import as_api_error, render_exception
from config.api.parsers import StrictJSONParser
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import LOG_IN, PUBLIC, AuthenticationRequired, InvalidToken
from config.core.errors import MalformedJSON, NotFound, PayloadTooLarge, UnsupportedMediaType, ValidationFailed
from config.core.json_bodies import read_body
from config.core.json_text import render_json
from config.core.lifecycle import RecordNotEditable, SecondFactorRequired, actor_of
from identity.access.models import OAuthClient
from identity.access.scopes import SCOPES
from identity.access.serializers import TokenSerializer
from identity.access.tokens import ACCESS_SECONDS
from identity.errors import OAuthError
from identity.oauth import clients, serializers
from identity.oauth.serializers import GrantRequestSerializer, RevocationRequestSerializer
from identity.oauth.validator import PlatformValidator

_logged_in = partial(endpoint, access=LOG_IN)
_changes = partial(endpoint, access=LOG_IN, idempotent=True)
_BODY_ERRORS = (MalformedJSON, PayloadTooLarge, UnsupportedMediaType, ValidationFailed)


_validator = PlatformValidator()
_TOKENS = oauth2.TokenEndpoint(
    default_grant_type="authorization_code",
    default_token_type=oauth2.BearerToken(_validator, expires_in=ACCESS_SECONDS),
    grant_types={
        "authorization_code": oauth2.AuthorizationCodeGrant(_validator),
        "refresh_token": oauth2.RefreshTokenGrant(_validator),
    },
)
_REVOCATION = oauth2.RevocationEndpoint(_validator)


class StrictFormParser(BaseParser):
    """Parse HTML forms in UTF-8. Reject repeated fields (RFC 6749, section 3.2)."""

    media_type = "application/x-www-form-urlencoded"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        raw = read_body(parser_context["request"])
        try:
            pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=64)
        except ValueError as error:
            raise ValidationFailed("The body must be a form in UTF-8.") from error
        members = dict(pairs)
        if len(members) != len(pairs):
            raise ValidationFailed("Each field must be sent once.")
        return members


class OAuthViewSet(ApiViewSet):
    """OAuth 2.0 for apps that act on behalf of an account: clients, tokens, and revocation."""

    tag = "oauth"
    parser_classes = [StrictJSONParser, StrictFormParser]

    def get_exception_handler(self) -> Any:
        return _render

    @endpoint(
        access=PUBLIC,
        limit="token",
        body=GrantRequestSerializer,
        answer=TokenSerializer,
        errors=(AuthenticationRequired, InvalidToken),
    )
    def token(self, request: ApiRequest, body: dict[str, str]) -> Response:
        """Create tokens from a code or token.

        The request has an authorization code or a refresh token.

        The body is JSON or a form. A client sends its id in the body or by HTTP Basic. In the errors 400 and 401,
        `error` has the code of RFC 6749 (`invalid_grant`, `invalid_client`, …). If a code or a refresh token is used a
        second time, the API revokes its tokens (RFC 6749, section 4.1.2; RFC 9700, section 4.14.2). If the response was
        lost, don't retry: redirect the user to the authorization page again.
        """
        return Response(json.loads(self._process(_TOKENS.create_token_response, request, body)))

    @endpoint(
        access=PUBLIC, limit="token", body=RevocationRequestSerializer, errors=(AuthenticationRequired, InvalidToken)
    )
    def revoke(self, request: ApiRequest, body: dict[str, str]) -> dict[str, Any]:
        """Revoke an access or refresh token.

        All tokens of the same authorization become invalid. If the token is unknown, or is an expired access token, the
        request changes nothing (RFC 7009).
        """
        self._process(_REVOCATION.create_revocation_response, request, body)
        return {}

    @staticmethod
    def _process(endpoint_method: Any, request: ApiRequest, body: dict[str, str]) -> str:
        """Return the body of oauthlib's response. Raises OAuthError for an unsuccessful response."""
        headers = {"HTTP_AUTHORIZATION": _basic_credentials(request.META.get("HTTP_AUTHORIZATION", ""))}
        try:
            _, text, status = endpoint_method(settings.BASE_URL, "POST", list(body.items()), headers)
        except oauth2.OAuth2Error as error:
            raise OAuthError(error.error, error.status_code, error.description or "") from error
        if status != 200:
            refusal = json.loads(text)
            raise OAuthError(refusal["error"], status, refusal.get("error_description", ""))
        return str(text)


def _basic_credentials(header: str) -> str:
    """Normalize the scheme for django-oauth-toolkit. Returns "" for a missing or invalid Basic header."""
    scheme, _, credentials = header.partition(" ")
    return f"Basic {credentials.strip()}" if scheme.lower() == "basic" and credentials.isascii() else ""


def _render(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Convert errors in the request body to the OAuth error `invalid_request`, as the protocol requires."""
    known = as_api_error(error)
    if isinstance(known, _BODY_ERRORS):
        error = OAuthError("invalid_request", 400, str(known))
    return render_exception(error, context)


class MetadataViewSet(ApiViewSet):
    tag = "oauth"

    @endpoint(access=PUBLIC)
    def document(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Get the metadata of the authorization server.

        The document follows RFC 8414.
        """
        methods = ["client_secret_post", "client_secret_basic", "none"]
        content = {
            "issuer": settings.HOST_ROOT,
            "authorization_endpoint": f"{settings.APP_URL}/oauth/authorize",
            "token_endpoint": f"{settings.BASE_URL}/oauth/token",
            "revocation_endpoint": f"{settings.BASE_URL}/oauth/revoke",
            "jwks_uri": f"{settings.HOST_ROOT}/.well-known/jwks.json",
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_methods_supported": methods,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "service_documentation": f"{settings.BASE_URL}/docs",
        }
        return HttpResponse(
            render_json(content), content_type="application/json", headers={"Cache-Control": "public, max-age=300"}
        )


class OAuthClientViewSet(ApiViewSet):
    """The OAuth clients that a logged-in account has registered."""

    lookup_url_kwarg = "client_id"
    tag = "oauth"

    @_logged_in(page=PageQuery, answer=serializers.OAuthClientsPageSerializer)
    def list(self, request: ApiRequest) -> Any:
        """List the account's OAuth clients.

        The newest client is first.
        """
        return clients.clients_of(request.user)

    @_changes(
        body=serializers.OAuthClientRequestSerializer,
        answer=serializers.IssuedClientSerializer,
        status=201,
        errors=(SecondFactorRequired, ValidationFailed),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> OAuthClient:
        """Register an OAuth client.

        Only this response contains the secret. A retry with the same Idempotency-Key returns the secret again. If the
        account has a second factor, you must have logged in with it. An account has at most 20 clients.
        """
        return clients.create_own_client(actor_of(request), **body, now=timezone.now())

    @_logged_in(answer=serializers.OAuthClientSerializer, errors=(NotFound,))
    def retrieve(self, request: ApiRequest, client_id: str) -> OAuthClient:
        """Get an OAuth client.

        The response does not contain the secret.
        """
        return clients.load_own_client(request.user, client_id)

    @_changes(
        body=serializers.OAuthClientChangeRequestSerializer,
        answer=serializers.OAuthClientSerializer,
        errors=(SecondFactorRequired, NotFound, ValidationFailed),
    )
    def partial_update(self, request: ApiRequest, client_id: str, body: dict[str, Any]) -> OAuthClient:
        """Update an OAuth client.

        The request changes the client's name, redirect URIs, or scopes. Existing consents don't change. If the account
        has a second factor, you must have logged in with it.
        """
        return clients.change_own_client(actor_of(request), client_id, changes=body, now=timezone.now())

    @action(detail=True, methods=["post"], url_path="rotate-secret")
    @_changes(answer=serializers.IssuedClientSerializer, errors=(SecondFactorRequired, NotFound, RecordNotEditable))
    def rotate_secret(self, request: ApiRequest, client_id: str) -> OAuthClient:
        """Rotate the secret of a client.

        Only this response contains the new secret. A retry with the same Idempotency-Key returns the secret again. The
        old secret becomes invalid immediately. If the account has a second factor, you must have logged in with it.
        """
        return clients.rotate_own_secret(actor_of(request), client_id, now=timezone.now())

    @_changes(errors=(SecondFactorRequired, NotFound))
    def destroy(self, request: ApiRequest, client_id: str) -> None:
        """Delete an OAuth client.

        The API revokes all grants to the client, and disables the client's webhook endpoints. If the account has a
        second factor, you must have logged in with it.
        """
        clients.delete_own_client(actor_of(request), client_id, now=timezone.now())
