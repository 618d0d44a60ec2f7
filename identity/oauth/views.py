"""The token endpoint, revocation and the metadata document: what clients call."""

import json
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from oauthlib.oauth2 import (
    AuthorizationCodeGrant,
    BearerToken,
    OAuth2Error,
    RefreshTokenGrant,
    RevocationEndpoint,
    TokenEndpoint,
)

from config.api.credentials import PUBLIC, AuthenticationRequired, InvalidToken
from config.api.errors import as_api_error, render_exception
from config.api.parsers import StrictFormParser, StrictJSONParser
from config.api.renderers import render_json
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.errors import ApiError, MalformedJSON, PayloadTooLarge, UnsupportedMediaType, ValidationFailed
from identity.access.scopes import SCOPES
from identity.access.tokens import ACCESS_SECONDS
from identity.oauth.validator import PlatformValidator
from identity.serializers import GrantBody, RevocationBody, TokenAnswer

METADATA_MAX_AGE_SECONDS = 300
# RFC 6749's words, and the code under which each appears here.
_CODES = {"invalid_client": AuthenticationRequired.code, "invalid_grant": InvalidToken.code}
_BODY_ERRORS = (MalformedJSON, PayloadTooLarge, UnsupportedMediaType, ValidationFailed)


class OAuthError(ApiError):
    """A refusal in the words of RFC 6749, section 5.2, with our members beside `error`."""

    def __init__(self, word: str, status: int, message: str = "") -> None:
        """Take the protocol's word; the status is 401 for a client that failed to say who it is, 400 otherwise."""
        headers = {"WWW-Authenticate": 'Basic realm="oauth"'} if status == AuthenticationRequired.status else None
        super().__init__(message or f"The authorization server refuses: {word.replace('_', ' ')}.", headers=headers)
        self.error = word  # type: ignore[misc]
        self.code = _CODES.get(word, ValidationFailed.code)  # type: ignore[misc]
        self.status = status  # type: ignore[misc]


def _token_endpoint() -> TokenEndpoint:
    """Return oauthlib's endpoint for the two grants that exist here; any other is unsupported."""
    validator = PlatformValidator()
    return TokenEndpoint(
        default_grant_type="authorization_code",
        default_token_type=BearerToken(validator, expires_in=ACCESS_SECONDS),
        grant_types={
            "authorization_code": AuthorizationCodeGrant(validator),
            "refresh_token": RefreshTokenGrant(validator),
        },
    )


class OAuthViewSet(ApiViewSet):
    """OAuth 2.0 for clients."""

    tag = "oauth"
    parser_classes = [StrictJSONParser, StrictFormParser]
    _tokens = _token_endpoint()
    _revocation = RevocationEndpoint(PlatformValidator())

    def get_exception_handler(self) -> Any:
        """Return a handler that says `invalid_request` of a body that cannot be read, as the protocol does."""
        return _render

    @endpoint(
        access=PUBLIC,
        limit="token",
        body=GrantBody,
        answer=TokenAnswer,
        errors=(AuthenticationRequired, InvalidToken),
    )
    def token(self, request: ApiRequest, body: dict[str, str]) -> dict[str, Any]:
        """Exchange an authorization code, or a refresh token, for tokens.

        The body is JSON or a form; a client names itself in it or by HTTP Basic. Errors carry the words of RFC 6749
        (`invalid_grant`, `invalid_client`, …) in `error`. A code or refresh token that was used before ends what it
        gave.
        """
        answer: dict[str, Any] = json.loads(self._ask(self._tokens.create_token_response, request, body))
        return answer

    @endpoint(access=PUBLIC, limit="token", body=RevocationBody, errors=(AuthenticationRequired, InvalidToken))
    def revoke(self, request: ApiRequest, body: dict[str, str]) -> dict[str, Any]:
        """End what an access or refresh token of the client belongs to; an unknown token is no error (RFC 7009)."""
        self._ask(self._revocation.create_revocation_response, request, body)
        return {}

    @staticmethod
    def _ask(question: Any, request: ApiRequest, body: dict[str, str]) -> str:
        """Ask oauthlib; return the text of a success, raise OAuthError for anything else."""
        headers = {"HTTP_AUTHORIZATION": request.META.get("HTTP_AUTHORIZATION", "")}
        try:
            _, text, status = question(settings.BASE_URL, "POST", list(body.items()), headers)
        except OAuth2Error as error:
            raise OAuthError(error.error, error.status_code, error.description or "") from error
        if status != 200:
            refusal = json.loads(text)
            raise OAuthError(refusal["error"], status, refusal.get("error_description", ""))
        return str(text)


def _render(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Answer for an exception that left one of these views."""
    known = as_api_error(error)
    if isinstance(known, _BODY_ERRORS):
        error = OAuthError("invalid_request", 400, str(known))
    return render_exception(error, context)


class MetadataViewSet(ApiViewSet):
    """What a client needs to know to begin (RFC 8414)."""

    tag = "oauth"

    @endpoint(access=PUBLIC)
    def document(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Describe the authorization server."""
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
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic", "none"],
            "revocation_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic", "none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "service_documentation": f"{settings.BASE_URL}/docs",
        }
        return HttpResponse(
            render_json(content),
            content_type="application/json",
            headers={"Cache-Control": f"public, max-age={METADATA_MAX_AGE_SECONDS}"},
        )
