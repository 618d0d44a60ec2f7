from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpResponse
from django.utils import timezone

from config.api import rate_limits
from config.api.credentials import ANY_CALLER, FIRST_PARTY, PUBLIC, AuthenticationRequired, InvalidToken
from config.api.middleware import client_address
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.backoffice.second_factor import verify_code
from config.core.json_text import render_json
from identity.access import signing_keys, tokens
from identity.access.keys import collect_api_key
from identity.access.scopes import SCOPES
from identity.errors import NothingToCollect
from identity.models import User
from identity.serializers import CallerAnswer, IssuedKeyAnswer, LoginBody, RefreshBody, TokenAnswer


class AuthViewSet(ApiViewSet):
    """Log-in, tokens, API keys, and who is calling."""

    @endpoint(access=PUBLIC, limit="token", body=LoginBody, answer=TokenAnswer, errors=(AuthenticationRequired,))
    def token(self, request: ApiRequest, body: dict[str, Any]) -> tokens.TokenPair:
        """Exchange a user name and password for tokens.

        With `otp`, the code that the person's authenticator shows now, the tokens carry the second factor that staff
        need to decide with. A code is good once; wrong ones slow the authenticator down.

        After ten failures for one user name from one address within a quarter of an hour, or a hundred from anywhere
        within an hour, further tries are refused until that time is over.
        """
        code = body["otp"]
        with rate_limits.login_attempt(body["username"], client_address(request)):
            user = ModelBackend().authenticate(request, username=body["username"], password=body["password"])
            if not isinstance(user, User) or (code is not None and verify_code(user, int(code)) is None):
                which = "The user name or the password" if code is None else "The user name, the password or the code"
                raise AuthenticationRequired(f"{which} is wrong.")
        return tokens.start_family(user=user, now=timezone.now(), second_factor=code is not None)

    @endpoint(access=PUBLIC, limit="token", body=RefreshBody, answer=TokenAnswer, errors=(InvalidToken,))
    def refresh(self, request: ApiRequest, body: dict[str, Any]) -> tokens.TokenPair:  # noqa: ARG002
        """Exchange a refresh token for a new pair.

        A refresh token is good for one use; using it again ends the log-in that it belongs to.
        """
        return tokens.rotate_refresh_token(body["refresh_token"], now=timezone.now())

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

    @endpoint(access=FIRST_PARTY, answer=IssuedKeyAnswer, errors=(NothingToCollect,))
    def collect(self, request: ApiRequest, key_id: str) -> dict[str, Any]:
        """Collect a key that operations rotated for you: its text and its secret are in this answer and nowhere else.

        The event `api_key.rotated` names it. The key that it replaces works on until this call, and for the grace
        that was set after it. A second call answers 404.
        """
        return collect_api_key(owner=request.user, identifier=key_id, now=timezone.now()).members()


class KeySetViewSet(ApiViewSet):
    @endpoint(access=PUBLIC)
    def keys(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Return the keys that verify access tokens, as a JSON Web Key Set (RFC 7517).

        A new key is here for a minute before it signs.
        """
        return HttpResponse(
            render_json({"keys": signing_keys.public_keys(timezone.now())}),
            content_type="application/json",
            headers={"Cache-Control": f"public, max-age={signing_keys.JWKS_MAX_AGE_SECONDS}"},
        )
