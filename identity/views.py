from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.utils import timezone

from config.api.idempotency import Outcome, ReservableKey, run_once
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import ANY_CALLER, FIRST_PARTY, PUBLIC, AuthenticationRequired, InvalidToken
from config.core.json_text import render_json
from config.core.lifecycle import actor_of
from identity import serializers
from identity.access import signing_keys, tokens
from identity.access.keys import IssuedKey, collect_api_key
from identity.access.models import User
from identity.access.scopes import SCOPES
from identity.access.serializers import IssuedKeySerializer, TokenSerializer
from identity.accounts.log_in import log_in
from identity.errors import NothingToCollect
from identity.oidc.services import exchange_code

WRONG_LOG_IN = (
    "The user name, the password, or the code is wrong. For an account with a second factor, send the current code of "
    "an authenticator app or a recovery code as `otp`."
)

WRONG_CODE = (
    "The code is unknown, used, or older than 2 minutes, or its session has ended. Create a new code at /account/."
)


class AuthViewSet(ApiViewSet):
    """Log-in, tokens, API keys, and the authenticated account."""

    @endpoint(
        access=PUBLIC,
        limit="token",
        body=serializers.LoginRequestSerializer,
        answer=TokenSerializer,
        errors=(AuthenticationRequired,),
    )
    def token(self, request: ApiRequest, body: dict[str, Any]) -> tokens.TokenPair:
        """Exchange a user name and password for tokens.

        An account with a second factor requires `otp`: the current code of an authenticator app, or a recovery code.
        Each code works once. The API returns the same 401 for a wrong user name, a wrong password, a wrong `otp`, and a
        missing `otp`.

        The API returns 429 after 10 failures for one user name from one address within 15 minutes. The API also returns
        429 after 100 failures from all addresses within 1 hour. The second limit does not apply to a request with a
        correct `otp`.

        Staff who use single sign-on send only a one-time `code` from `/account/`. The tokens of these staff expire with
        the session.
        """
        if body["code"] is not None:
            pair = exchange_code(body["code"], now=timezone.now())
            if pair is None:
                raise AuthenticationRequired(WRONG_CODE)
            return pair
        name, code = body["username"], body["otp"]
        user = log_in(request, name=name, username=name, password=body["password"], code=code)
        if user is None:
            raise AuthenticationRequired(WRONG_LOG_IN)
        return tokens.start_family(user=user, now=timezone.now(), second_factor=code is not None)

    @endpoint(
        access=PUBLIC,
        limit="token",
        body=serializers.RefreshRequestSerializer,
        answer=TokenSerializer,
        errors=(InvalidToken,),
        idempotent=True,
        reserves_key=True,
    )
    def refresh(self, request: ApiRequest, body: dict[str, Any], key: ReservableKey | None) -> Outcome:  # noqa: ARG002
        """Exchange a refresh token for new tokens.

        A refresh token works once. A second use revokes all tokens of the log-in. A retry with the same Idempotency-Key
        returns the same tokens for 5 minutes, or until the new refresh token is used. After that, the retry counts as a
        second use.
        """
        now, answer = timezone.now(), TokenSerializer
        token = tokens.find_refresh_token(body["refresh_token"], client=None, now=now)
        if token is None:
            raise InvalidToken
        may_be_retried = key is not None and tokens.may_be_retried(token, now=now)
        owned = replace(key, owner_id=token.family.user_id) if key is not None and may_be_retried else None

        def work() -> Outcome:
            pair = tokens.use_refresh_token(body["refresh_token"], now=now)
            return Outcome(200, render_json(answer.represent(pair)), seal=answer.seal_of(pair))

        with tokens.end_family_of_reused_token(now=now):
            outcome = run_once(owned, work)
        if owned is not None and outcome.replayed:
            return replace(outcome, body=answer.opened(outcome.body, owned.place))
        return outcome

    @endpoint(access=PUBLIC, limit="token", body=serializers.RefreshRequestSerializer)
    def revoke(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Revoke a refresh token.

        All tokens of the same log-in become invalid. The API also accepts an unknown token.
        """
        tokens.revoke_refresh_token(body["refresh_token"], now=timezone.now())
        return {}

    @endpoint(access=ANY_CALLER, answer=serializers.CallerSerializer)
    def me(self, request: ApiRequest) -> dict[str, Any]:
        """Get the authenticated account.

        A credential that acts on behalf of the account gets only its own scopes and the account's id.
        """
        user: User = request.user
        caller = {"id": user.pk, "scopes": sorted(SCOPES if request.auth.scopes is None else request.auth.scopes)}
        if request.auth.delegated:
            return caller
        groups = sorted(user.groups.values_list("name", flat=True))
        return {
            **caller, "username": user.username, "email": user.email, "is_staff": user.is_staff, "groups": groups,
        }  # fmt: skip

    @endpoint(access=FIRST_PARTY, answer=IssuedKeySerializer, idempotent=True, errors=(NothingToCollect,))
    def collect(self, request: ApiRequest, key_id: str) -> IssuedKey:
        """Collect a rotated API key.

        Call this operation after an operator has rotated your key. Only this response contains the new key and its
        secret. A retry with the same Idempotency-Key returns the same response.

        The event `api_key.rotated` contains the `key_id` in `api_key_id`. The old key stays valid for the grace period
        after this call, or until its own expiry if that is earlier. If you call the operation again without the same
        Idempotency-Key, the API returns 404.
        """
        return collect_api_key(actor_of(request), identifier=key_id, now=timezone.now())


class KeySetViewSet(ApiViewSet):
    @endpoint(access=PUBLIC)
    def keys(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Get the keys that verify access tokens.

        The response is a JSON Web Key Set (RFC 7517).

        A rotation publishes the new key at least one minute before the server signs with it.
        """
        return HttpResponse(
            render_json({"keys": signing_keys.public_keys(timezone.now())}),
            content_type="application/json",
            headers={"Cache-Control": f"public, max-age={signing_keys.JWKS_MAX_AGE_SECONDS}"},
        )
