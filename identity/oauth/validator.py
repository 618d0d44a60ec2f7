from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from oauth2_provider.models import Grant
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2 import InvalidGrantError

from config.core.credentials import ExpiredToken, InvalidToken
from config.core.digest import digest_of
from config.core.ids import first_or, queryable
from identity.access import tokens
from identity.access.models import TokenFamily
from identity.access.second_factor import any_has_one


class PlatformValidator(OAuth2Validator):  # type: ignore[misc]
    """Store codes as grants of django-oauth-toolkit, and exchange them for token families of the platform.

    A code creates one family. The same transaction deletes the grant, so only one of several concurrent requests finds
    the grant. A second use of the code revokes the family (RFC 6749, section 4.1.2).
    """

    def validate_client_id(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> bool:
        return bool(queryable(client_id) and super().validate_client_id(client_id, request, *args, **kwargs))

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        if super().validate_code(client_id, code, client, request, *args, **kwargs):
            return bool(request.user.is_active)
        TokenFamily.objects.filter(code_sha256=digest_of(code), client=client).revoke(now=timezone.now())
        return False

    def save_authorization_code(self, client_id: str, code: dict[str, str], request: Any, *args: Any) -> None:
        """Store the code. If the authorization request omitted `redirect_uri`, store an empty `redirect_uri`."""
        super().save_authorization_code(client_id, code, request, *args)
        if getattr(request, "omits_redirect_uri", False):
            Grant.objects.filter(code=code["code"]).update(redirect_uri="")

    def confirm_redirect_uri(
        self, _client_id: str, code: str, redirect_uri: str, client: Any, request: Any, *_args: Any
    ) -> bool:
        """Raise InvalidGrantError if the redirect URIs of the two requests differ (RFC 6749, section 4.1.3).

        The requests are the authorization request and the token request. If the authorization request omitted
        `redirect_uri`, the token request may contain the default of the client.
        """
        stored = self._grant(code, request).redirect_uri
        is_missing = bool(stored) and request.using_default_redirect_uri
        if is_missing or redirect_uri != (stored or client.default_redirect_uri):
            raise InvalidGrantError("`redirect_uri` must be the same as in the authorization request.", request=request)
        return True

    def validate_scopes(
        self, client_id: str, scopes: list[str], client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        return bool(scopes) and bool(super().validate_scopes(client_id, scopes, client, request, *args, **kwargs))

    def is_pkce_required(self, _client_id: str, request: Any) -> bool:
        return bool(request.client.client_type == request.client.CLIENT_PUBLIC)

    def get_code_challenge(self, code: str, request: Any) -> str | None:
        challenge = self._grant(code, request).code_challenge or None
        if challenge is None and request.code_verifier is not None:
            # An attacker can remove the challenge from the authorization request (RFC 9700, section 4.8.2).
            raise InvalidGrantError(
                "The authorization request had no `code_challenge`, so `code_verifier` must be absent.", request=request
            )
        return challenge

    def get_code_challenge_method(self, code: str, request: Any) -> str | None:
        return self._grant(code, request).code_challenge_method or None

    @staticmethod
    def _grant(code: str, request: Any) -> Grant:
        return first_or(Grant.objects.filter(code=code, application=request.client), InvalidGrantError(request=request))

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Any, *_args: Any, **_kwargs: Any
    ) -> bool:
        token = tokens.find_refresh_token(refresh_token, client=client, now=timezone.now())
        if token is None:
            return False
        request.user, request.family = token.family.user, token.family
        request.refresh_token = refresh_token
        return True

    def get_original_scopes(self, _refresh_token: str, request: Any, *_args: Any, **_kwargs: Any) -> list[str]:
        scopes: list[str] = request.family.scope.split()
        return scopes

    def save_bearer_token(self, token: dict[str, Any], request: Any, *_args: Any, **_kwargs: Any) -> None:
        """Add the platform's tokens to the response. Raises InvalidGrantError if another request has used the code."""
        scope = " ".join(request.scopes)
        try:
            if request.grant_type == "refresh_token":
                facts = {"client": request.client, "scope": scope}
                pair = tokens.rotate_refresh_token(request.refresh_token, now=timezone.now(), **facts)
            else:
                pair = self._exchange_code(request, scope)
        except (InvalidToken, IntegrityError) as error:
            raise InvalidGrantError(request=request) from error
        token.update({**asdict(pair), "scope": scope})

    def _exchange_code(self, request: Any, scope: str) -> tokens.TokenPair:
        with transaction.atomic():
            grant = Grant.objects.filter(code=request.code, application=request.client).first()
            if grant is None or not grant.delete()[0]:
                raise InvalidToken
            # `ConsentPage` required a second factor only if the account had one at the time of the consent.
            has_factor = any_has_one(user=request.user, created_at__lte=grant.created)
            family = {"client": request.client, "scope": scope, "code_sha256": digest_of(request.code)}
            family["second_factor"] = has_factor
            return tokens.start_family(user=request.user, now=timezone.now(), **family)

    def invalidate_authorization_code(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing, because the exchange has already deleted the code."""

    def revoke_token(self, token: str, _token_type_hint: str, request: Any, *_args: Any, **_kwargs: Any) -> None:
        """Revoke the token family of an access or refresh token of this client. Ignore any other string (RFC 7009)."""
        now = timezone.now()
        tokens.revoke_refresh_token(token, client=request.client, now=now)
        try:
            claims = tokens.read_access_token(token)
        except (InvalidToken, ExpiredToken):
            return
        TokenFamily.objects.filter(pk=claims["sid"], client=request.client).revoke(now=now)
