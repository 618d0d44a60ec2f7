import re
from typing import Any

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from identity.access.passwords import PASSWORD_MAX
from identity.accounts.recovery import is_recovery_code, normalise


class OtpField(serializers.TextField):
    """Six digits that an authenticator shows, or a recovery code, perhaps with a space or a hyphen in the middle."""

    default_error_messages = {"code": "Must be six digits, or a recovery code."}

    def to_internal_value(self, data: Any) -> str:
        code = normalise(super().to_internal_value(data))
        if not (re.fullmatch("[0-9]{6}", code) or is_recovery_code(code)):
            self.fail("code")
        return code


class LoginRequestSerializer(serializers.RequestSerializer):
    """A user name, its password, and the code of an account with an authenticator."""

    username = serializers.IdField(help_text="The name of the account.")
    password = serializers.TextField(min_length=1, max_length=PASSWORD_MAX, help_text="The account's password.")
    otp = OtpField(
        max_length=16,
        allow_null=True,
        default=None,
        help_text="The authenticator's current code, or a recovery code. An account with an authenticator needs it.",
    )


class RefreshRequestSerializer(serializers.RequestSerializer):
    """A refresh token."""

    refresh_token = serializers.TextField(min_length=1, max_length=512, help_text="The newest one; it works once.")


class TokenSerializer(SecretAnswer, serializers.ResponseSerializer):
    """A pair of tokens; lifetimes are in seconds."""

    access_token = serializers.TextField(help_text="A JWT: send it as `Authorization: Bearer`.")
    token_type = serializers.TextField(help_text="`Bearer`.")
    expires_in = serializers.Int64Field(help_text="How long the access token lasts, in seconds.")
    refresh_token = serializers.TextField()
    refresh_expires_in = serializers.Int64Field(help_text="How long the refresh token lasts, in seconds.")
    scope = serializers.TextField(help_text="The scopes of the tokens, separated by blanks.")


class CallerSerializer(serializers.ResponseSerializer):
    """The caller. An app on behalf of a person gets their id and its own scopes only."""

    id = serializers.Int64Field(help_text="The account's id, as a number.")
    user_id = serializers.TextField(source="id", help_text="The same as text, as other bodies and answers have it.")
    username = serializers.TextField(required=False)
    email = serializers.TextField(required=False, help_text="May be empty.")
    is_staff = serializers.FlagField(required=False, help_text="Whether the account may use the back office.")
    groups = serializers.ListField(
        required=False, child=serializers.TextField(), help_text="The names of the account's groups."
    )
    scopes = serializers.ListField(child=serializers.TextField(), help_text="The scopes of this credential.")


class IssuedKeySerializer(SecretAnswer, serializers.ResponseSerializer):
    """An API key with its texts, which are shown this once; `replaces` ends at `old_expires_at`."""

    id = serializers.TextField(source="record.pk", help_text="The key's id, which is not secret.")
    name = serializers.TextField(source="record.name", help_text="Its owner's description of its purpose.")
    key = serializers.TextField(help_text="Send it as `X-API-Key`. Shown this once.")
    secret = serializers.TextField(help_text="Signs requests. Shown this once.")
    scopes = serializers.ListField(source="record.scopes", child=serializers.TextField(), allow_null=True)
    expires_at = serializers.DateTimeField(source="record.expires_at", help_text="When it ends (UTC).")
    replaces = serializers.TextField(
        source="record.replaces_id", allow_null=True, help_text="The id of the key before it; null where there is none."
    )
    old_expires_at = serializers.DateTimeField(
        allow_null=True, help_text="When the key before it ends (UTC); null where there is none."
    )


class GrantRequestSerializer(serializers.RequestSerializer):
    """A client's request to the token endpoint (RFC 6749): the required members depend on `grant_type`."""

    grant_type = serializers.TextField(max_length=255, required=False, help_text="authorization_code or refresh_token")
    code = serializers.TextField(
        max_length=512, required=False, help_text="The authorization code from the app's redirect address."
    )
    redirect_uri = serializers.TextField(
        max_length=2048, required=False, help_text="The same as when the code was asked for."
    )
    code_verifier = serializers.TextField(
        max_length=128, required=False, help_text="The text whose SHA-256 was the `code_challenge` (PKCE)."
    )
    refresh_token = serializers.TextField(max_length=512, required=False)
    scope = serializers.TextField(
        max_length=1024, required=False, help_text="Fewer scopes than before, separated by blanks."
    )
    client_id = serializers.TextField(max_length=255, required=False)
    client_secret = serializers.TextField(max_length=512, required=False)


class RevocationRequestSerializer(serializers.RequestSerializer):
    """A client's request to end a token (RFC 7009)."""

    token = serializers.TextField(min_length=1, max_length=PASSWORD_MAX, help_text="The token to end.")
    token_type_hint = serializers.TextField(
        max_length=64, required=False, help_text="`access_token` or `refresh_token`; a hint only."
    )
    client_id = serializers.TextField(max_length=255, required=False)
    client_secret = serializers.TextField(max_length=512, required=False)
