"""django-oauth-toolkit's storage of codes, with our tokens behind it."""

import hashlib
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from oauth2_provider.models import Grant
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2 import InvalidGrantError

from config.api.credentials import ExpiredToken, InvalidToken
from identity.access import tokens
from identity.models import TokenFamily


def _sha256(code: str) -> str:
    """Return what a code is remembered as, once it is used."""
    return hashlib.sha256(code.encode()).hexdigest()


class PlatformValidator(OAuth2Validator):  # type: ignore[misc]
    """Codes are django-oauth-toolkit's grants; what they are exchanged for are token families of ours.

    A code makes one family: its grant is deleted in the transaction that makes the family, and of parallel uses one
    finds the grant. A code that comes again ends the family that it made (RFC 6749, section 4.1.2).
    """

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Say whether the code may be exchanged; a code that was, ends what it was exchanged for."""
        if super().validate_code(client_id, code, client, request, *args, **kwargs):
            return bool(request.user.is_active)
        used = TokenFamily.objects.filter(code_sha256=_sha256(code), client=client).first()
        if used is not None:
            tokens.revoke_family(used.pk, now=timezone.now())
        return False

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Compare the address; a grant that another request has just used up is no fault of ours."""
        try:
            return bool(super().confirm_redirect_uri(client_id, code, redirect_uri, client, *args, **kwargs))
        except Grant.DoesNotExist:
            return False

    def validate_scopes(
        self, client_id: str, scopes: list[str], client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Say whether the client may ask for these; for nothing at all nobody is asked."""
        return bool(scopes) and bool(super().validate_scopes(client_id, scopes, client, request, *args, **kwargs))

    def is_pkce_required(self, _client_id: str, request: Any) -> bool:
        """Ask PKCE of clients that keep no secret; of others it is honoured when they use it."""
        return bool(request.client.client_type == request.client.CLIENT_PUBLIC)

    def get_code_challenge(self, code: str, request: Any) -> str | None:
        """Return the PKCE challenge of a code.

        Raises InvalidGrantError for a verifier of a code without a challenge: somebody has taken the challenge out of
        the request for the code (RFC 9700, section 4.8.2).
        """
        challenge = self._grant(code, request).code_challenge or None
        if challenge is None and request.code_verifier is not None:
            raise InvalidGrantError("The code was asked for without a code_challenge.", request=request)
        return challenge

    def get_code_challenge_method(self, code: str, request: Any) -> str | None:
        """Return the PKCE method of a code."""
        return self._grant(code, request).code_challenge_method or None

    @staticmethod
    def _grant(code: str, request: Any) -> Grant:
        """Return the grant of a code; raises InvalidGrantError when it was used up meanwhile."""
        grant = Grant.objects.filter(code=code, application=request.client).first()
        if grant is None:
            raise InvalidGrantError(request=request)
        return grant

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Any, *_args: Any, **_kwargs: Any
    ) -> bool:
        """Say whether the refresh token is the client's; whether it was used is seen when it is exchanged."""
        found = tokens.find_refresh_token(refresh_token, client=client, now=timezone.now())
        if found is None:
            return False
        request.user, request.family = found.family.user, found.family
        request.refresh_token = refresh_token
        return True

    def get_original_scopes(self, _refresh_token: str, request: Any, *_args: Any, **_kwargs: Any) -> list[str]:
        """Return what was consented to: a refresh may narrow it."""
        scopes: list[str] = request.family.scope.split()
        return scopes

    def save_bearer_token(self, token: dict[str, Any], request: Any, *_args: Any, **_kwargs: Any) -> None:
        """Put tokens of ours into the answer in place of the random ones.

        Raises InvalidGrantError when a parallel request with the same code or refresh token came first.
        """
        scope = " ".join(request.scopes)
        try:
            if request.grant_type == "refresh_token":
                pair = tokens.rotate_refresh_token(
                    request.refresh_token, client=request.client, scope=scope, now=timezone.now()
                )
            else:
                pair = self._exchange_code(request, scope)
        except (InvalidToken, IntegrityError) as error:
            raise InvalidGrantError(request=request) from error
        token["access_token"], token["refresh_token"] = pair.access_token, pair.refresh_token
        token["expires_in"], token["refresh_expires_in"] = pair.expires_in, pair.refresh_expires_in
        token["scope"] = scope

    def _exchange_code(self, request: Any, scope: str) -> tokens.TokenPair:
        """Use the code up and make its family, together or not at all."""
        with transaction.atomic():
            used, _ = Grant.objects.filter(code=request.code, application=request.client).delete()
            if not used:
                raise InvalidToken
            return tokens.start_family(
                user=request.user,
                client=request.client,
                scope=scope,
                code_sha256=_sha256(request.code),
                now=timezone.now(),
            )

    def invalidate_authorization_code(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing: the code was used up with the tokens that it gave."""

    def revoke_token(self, token: str, _token_type_hint: str, request: Any, *_args: Any, **_kwargs: Any) -> None:
        """End the family of an access or refresh token of this client; any other text is no error (RFC 7009)."""
        now = timezone.now()
        tokens.revoke_refresh_token(token, client=request.client, now=now)
        try:
            claims = tokens.read_access_token(token)
        except (InvalidToken, ExpiredToken):
            return
        family = TokenFamily.objects.filter(pk=claims["sid"], client=request.client).first()
        if family is not None:
            tokens.revoke_family(family.pk, now=now)
