import re
from typing import Any

from config.api import serializers
from identity.access.passwords import PASSWORD_MAX
from identity.accounts.recovery import is_recovery_code, normalise

_REQUIRED = "This field is required."


class OtpField(serializers.TextField):
    """Six digits from an authenticator, or a recovery code. The value may contain spaces or hyphens."""

    default_error_messages = {"code": "Must be six digits, or a recovery code."}

    def to_internal_value(self, data: Any) -> str:
        code = normalise(super().to_internal_value(data))
        if not (re.fullmatch("[0-9]{6}", code) or is_recovery_code(code)):
            self.fail("code")
        return code


class LoginRequestSerializer(serializers.RequestSerializer):
    """A user name and password, with `otp` for an account with a second factor. Staff with single sign-on send only
    `code`.
    """

    username = serializers.IdField(**serializers.NULLABLE, help_text="The user name of the account.")
    password = serializers.TextField(
        min_length=1, max_length=PASSWORD_MAX, **serializers.NULLABLE, help_text="The account's password."
    )
    otp = OtpField(
        max_length=16,
        **serializers.NULLABLE,
        help_text="The current code of an authenticator app, or a recovery code. Required for an account with a second "
        "factor.",
    )
    code = serializers.TextField(
        min_length=1,
        max_length=64,
        **serializers.NULLABLE,
        help_text="A one-time code from `/account/`, for staff who log in with single sign-on. Send no other field.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        rest = [name for name in ("username", "password", "otp") if attrs[name] is not None]
        if attrs["code"] is not None and rest:
            raise serializers.ValidationError({rest[0]: "Must be absent with `code`."})
        absent = {name: _REQUIRED for name in ("username", "password") if attrs["code"] is None and attrs[name] is None}
        if absent:
            raise serializers.ValidationError(absent)
        return attrs


class RefreshRequestSerializer(serializers.RequestSerializer):
    """A refresh token."""

    refresh_token = serializers.TextField(
        min_length=1, max_length=512, help_text="The newest refresh token, which works once."
    )


class CallerSerializer(serializers.ResponseSerializer):
    """The authenticated account. An app or a partner that acts on behalf of the account gets only the account's id and
    the scopes."""

    id = serializers.Int64Field(help_text="The account's id, as a number.")
    user_id = serializers.TextField(
        source="id", help_text="The account's id as a string, as in other requests and responses."
    )
    username = serializers.TextField(required=False)
    email = serializers.TextField(required=False, help_text="The email address; can be empty.")
    is_staff = serializers.FlagField(required=False, help_text="Whether the account can use the back office.")
    groups = serializers.ListField(
        required=False, child=serializers.TextField(), help_text="The names of the account's groups."
    )
    scopes = serializers.ListField(
        child=serializers.TextField(), help_text="The scopes of this credential: all scopes if it is unrestricted."
    )
