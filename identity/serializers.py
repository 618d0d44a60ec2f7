from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    IdField,
    Int64Field,
    RequestSerializer,
    ResponseSerializer,
    StrictListField,
    TextField,
)

OTP_DIGITS = 6


class OtpField(TextField):
    """The six digits that an authenticator shows, perhaps with a space in the middle."""

    default_error_messages = {"digits": "Must be six digits."}

    def to_internal_value(self, data: Any) -> str:
        code = super().to_internal_value(data).replace(" ", "")
        if not (len(code) == OTP_DIGITS and code.isascii() and code.isdigit()):
            self.fail("digits")
        return code


class LoginBody(RequestSerializer):
    """A user name and its password, and the second factor of whoever has one."""

    username = IdField()
    password = TextField(min_length=1, max_length=4096)
    otp = OtpField(max_length=16, allow_null=True, default=None, help_text="The code that the authenticator shows now.")


class RefreshBody(RequestSerializer):
    """A refresh token."""

    refresh_token = TextField(min_length=1, max_length=512)


class TokenAnswer(ResponseSerializer):
    """A pair of tokens; lifetimes are in seconds."""

    access_token = TextField()
    token_type = TextField()
    expires_in = Int64Field()
    refresh_token = TextField()
    refresh_expires_in = Int64Field()
    scope = TextField()


class CallerAnswer(ResponseSerializer):
    """Who the caller is."""

    id = Int64Field()
    user_id = TextField()
    username = TextField()
    email = TextField()
    is_staff = FlagField()
    groups: Any = StrictListField(child=TextField())
    scopes: Any = StrictListField(child=TextField())


class IssuedKeyAnswer(ResponseSerializer):
    """An API key with its texts, which are shown this once; `replaces` ends at `old_expires_at`."""

    id = TextField()
    key = TextField()
    secret = TextField()
    scopes: Any = StrictListField(child=TextField(), allow_null=True)
    expires_at = serializers.DateTimeField()
    replaces = TextField(allow_null=True)
    old_expires_at = serializers.DateTimeField(allow_null=True)


class GrantBody(RequestSerializer):
    """What a client sends to the token endpoint (RFC 6749): which members are needed depends on `grant_type`."""

    grant_type = TextField(max_length=255, required=False, help_text="authorization_code or refresh_token")
    code = TextField(max_length=512, required=False)
    redirect_uri = TextField(max_length=2048, required=False)
    code_verifier = TextField(max_length=128, required=False)
    refresh_token = TextField(max_length=512, required=False)
    scope = TextField(max_length=1024, required=False)
    client_id = TextField(max_length=255, required=False)
    client_secret = TextField(max_length=512, required=False)


class RevocationBody(RequestSerializer):
    """What a client sends to end a token (RFC 7009)."""

    token = TextField(min_length=1, max_length=4096)
    token_type_hint = TextField(max_length=64, required=False)
    client_id = TextField(max_length=255, required=False)
    client_secret = TextField(max_length=512, required=False)
