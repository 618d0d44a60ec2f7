"""Token endpoints, the caller's own record, and the public keys."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpResponse
from django.utils import timezone

from config.api import throttling
from config.api.credentials import ANY_CALLER, PUBLIC, AuthenticationRequired, InvalidToken
from config.api.renderers import render_json
from config.api.views import ApiRequest, ApiViewSet, endpoint
from identity import tokens
from identity.models import User
from identity.scopes import SCOPES
from identity.serializers import CallerAnswer, LoginBody, RefreshBody, TokenAnswer

JWKS_MAX_AGE_SECONDS = 300


def _shown(pair: tokens.TokenPair) -> dict[str, Any]:
    """Return a pair of tokens as the answer has it."""
    return {
        "access_token": pair.access_token,
        "token_type": "Bearer",
        "expires_in": pair.expires_in,
        "refresh_token": pair.refresh_token,
        "refresh_expires_in": pair.refresh_expires_in,
        "scope": " ".join(SCOPES),
    }


class AuthViewSet(ApiViewSet):
    """Logging in, refreshing, revoking, and asking who one is."""

    @endpoint(
        access=PUBLIC,
        limit="token",
        body=LoginBody,
        answer=TokenAnswer,
        errors=(AuthenticationRequired,),
    )
    def token(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Exchange a user name and password for tokens.

        After ten failures for one user name within a minute further tries are refused until the minute is over.
        """
        who = body["username"].casefold()
        throttling.refuse_after_failures("token_failure", who)
        user = ModelBackend().authenticate(request._request, username=body["username"], password=body["password"])
        if not isinstance(user, User):
            throttling.count_failure("token_failure", who)
            raise AuthenticationRequired("The user name or the password is wrong.")
        return _shown(tokens.start_family(user=user, now=timezone.now()))

    @endpoint(access=PUBLIC, limit="token", body=RefreshBody, answer=TokenAnswer, errors=(InvalidToken,))
    def refresh(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Exchange a refresh token for a new pair.

        A refresh token is good for one use; using it again ends the log-in that it belongs to.
        """
        return _shown(tokens.rotate_refresh_token(body["refresh_token"], now=timezone.now()))

    @endpoint(access=PUBLIC, limit="token", body=RefreshBody)
    def revoke(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """End the log-in that a refresh token belongs to; an unknown token is no error."""
        tokens.revoke_refresh_token(body["refresh_token"], now=timezone.now())
        return {}

    @endpoint(access=ANY_CALLER, answer=CallerAnswer)
    def me(self, request: ApiRequest) -> dict[str, Any]:
        """Tell the caller who they are."""
        user: User = request.user
        return {
            "id": user.pk,
            "user_id": str(user.pk),
            "username": user.username,
            "email": user.email,
            "is_staff": user.is_staff,
            "groups": sorted(user.groups.values_list("name", flat=True)),
            "scopes": sorted(SCOPES if request.auth.scopes is None else request.auth.scopes),
        }


class KeySetViewSet(ApiViewSet):
    """The public signing keys."""

    @endpoint(access=PUBLIC)
    def keys(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Return the keys that verify access tokens, as a JSON Web Key Set (RFC 7517)."""
        tokens.key_ring.signing()
        shown = [key.public_jwk for key in tokens.live_signing_keys(timezone.now())]
        return HttpResponse(
            render_json({"keys": shown}),
            content_type="application/json",
            headers={"Cache-Control": f"public, max-age={JWKS_MAX_AGE_SECONDS}"},
        )
