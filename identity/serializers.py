from typing import Any

from config.api import serializers

OTP_DIGITS = 6


class OtpField(serializers.TextField):
    """The six digits that an authenticator shows, perhaps with a space in the middle."""

    default_error_messages = {"digits": "Must be six digits."}

    def to_internal_value(self, data: Any) -> str:
        code = super().to_internal_value(data).replace(" ", "")
        if not (len(code) == OTP_DIGITS and code.isascii() and code.isdigit()):
            self.fail("digits")
        return code


class LoginBody(serializers.RequestSerializer):
    """A user name and its password, and the second factor of whoever has one."""

    username = serializers.IdField()
    password = serializers.TextField(min_length=1, max_length=4096)
    otp = OtpField(max_length=16, allow_null=True, default=None, help_text="The code that the authenticator shows now.")


class RefreshBody(serializers.RequestSerializer):
    """A refresh token."""

    refresh_token = serializers.TextField(min_length=1, max_length=512)


class TokenAnswer(serializers.ResponseSerializer):
    """A pair of tokens; lifetimes are in seconds."""

    access_token = serializers.TextField()
    token_type = serializers.TextField()
    expires_in = serializers.Int64Field()
    refresh_token = serializers.TextField()
    refresh_expires_in = serializers.Int64Field()
    scope = serializers.TextField()


class CallerAnswer(serializers.ResponseSerializer):
    """Who the caller is."""

    id = serializers.Int64Field()
    user_id = serializers.TextField()
    username = serializers.TextField()
    email = serializers.TextField()
    is_staff = serializers.FlagField()
    groups: Any = serializers.StrictListField(child=serializers.TextField())
    scopes: Any = serializers.StrictListField(child=serializers.TextField())


class IssuedKeyAnswer(serializers.ResponseSerializer):
    """An API key with its texts, which are shown this once; `replaces` ends at `old_expires_at`."""

    id = serializers.TextField()
    key = serializers.TextField()
    secret = serializers.TextField()
    scopes: Any = serializers.StrictListField(child=serializers.TextField(), allow_null=True)
    expires_at = serializers.DateTimeField()
    replaces = serializers.TextField(allow_null=True)
    old_expires_at = serializers.DateTimeField(allow_null=True)


class GrantBody(serializers.RequestSerializer):
    """What a client sends to the token endpoint (RFC 6749): which members are needed depends on `grant_type`."""

    grant_type = serializers.TextField(max_length=255, required=False, help_text="authorization_code or refresh_token")
    code = serializers.TextField(max_length=512, required=False)
    redirect_uri = serializers.TextField(max_length=2048, required=False)
    code_verifier = serializers.TextField(max_length=128, required=False)
    refresh_token = serializers.TextField(max_length=512, required=False)
    scope = serializers.TextField(max_length=1024, required=False)
    client_id = serializers.TextField(max_length=255, required=False)
    client_secret = serializers.TextField(max_length=512, required=False)


class RevocationBody(serializers.RequestSerializer):
    """What a client sends to end a token (RFC 7009)."""

    token = serializers.TextField(min_length=1, max_length=4096)
    token_type_hint = serializers.TextField(max_length=64, required=False)
    client_id = serializers.TextField(max_length=255, required=False)
    client_secret = serializers.TextField(max_length=512, required=False)
