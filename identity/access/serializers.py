from config.api import serializers
from config.api.secret_answers import SecretAnswer
from identity.access.keys import DEFAULT_DAYS, GRACE_MAX_DAYS, NAME_MAX_LENGTH
from identity.access.models import ApiKey
from identity.access.scopes import SCOPES

EXPIRES_MAX_DAYS = 365
KEY_STATES = ("active", "expired", "revoked", "suspended", "to_collect")


class ApiKeyRequestSerializer(serializers.RequestSerializer):
    """An API key to create."""

    refuses_unknown = True
    name = serializers.NameField(
        max_length=NAME_MAX_LENGTH,
        help_text="Your description of the purpose. The name must not look like the name of another API key of the "
        "account. Expired, revoked, and rotated keys don't count.",
    )
    scopes = serializers.ListField(
        child=serializers.OneOfField(SCOPES),
        min_length=1,
        max_length=len(SCOPES),
        **serializers.NULLABLE,
        help_text="The scopes of the key; null for an unrestricted key.",
    )
    expires_days = serializers.Int32Field(
        min_value=1, max_value=EXPIRES_MAX_DAYS, default=DEFAULT_DAYS, help_text="The lifetime in days."
    )


class KeyRotationRequestSerializer(serializers.RequestSerializer):
    """The grace period of the old key."""

    refuses_unknown = True
    is_optional = True
    grace_days = serializers.Int32Field(
        min_value=0, max_value=GRACE_MAX_DAYS, default=7, help_text="The grace period in days."
    )


class ApiKeySerializer(serializers.ModelResponseSerializer):
    """An API key, without its secrets."""

    scopes = serializers.ListField(child=serializers.TextField(), allow_null=True)
    state = serializers.OneOfField(
        KEY_STATES,
        help_text="The state of the key. `to_collect`: collect the new key. `suspended`: confirm the key at "
        "`/developers/keys`.",
    )

    class Meta:
        model = ApiKey
        fields = [
            "id", "name", "scopes", "state", "created_at", "expires_at", "revoked_at", "last_used_at", "replaces",
        ]  # fmt: skip
        extra_kwargs = {
            "last_used_at": {
                "help_text": "When the key was last used (UTC). The value can be up to about 1 minute too early. Null "
                "if the key was never used."
            },
            "replaces": {"source": "replaces_id"},
        }


class ApiKeysPageSerializer(serializers.PageSerializer):
    """A page of the account's API keys."""

    api_keys = ApiKeySerializer(many=True, help_text="The API keys, newest first.")


class IssuedKeySerializer(SecretAnswer, serializers.ResponseSerializer):
    """An API key, with its value and its signing secret. The key in `replaces` expires at `old_expires_at`."""

    id = serializers.TextField(source="record.pk", help_text="The key's id, which is not secret.")
    name = serializers.TextField(source="record.name", help_text="The purpose of the key, in its owner's words.")
    key = serializers.TextField(help_text="The key: send it as `X-API-Key`. No other operation returns it.")
    secret = serializers.TextField(help_text="The secret that signs requests. No other operation returns it.")
    scopes = serializers.ListField(source="record.scopes", child=serializers.TextField(), allow_null=True)
    expires_at = serializers.DateTimeField(source="record.expires_at", help_text="When the key expires (UTC).")
    replaces = serializers.TextField(
        source="record.replaces_id",
        allow_null=True,
        help_text="The id of the key that this key replaces; null if it replaces none.",
    )
    old_expires_at = serializers.DateTimeField(
        allow_null=True, help_text="When the replaced key expires (UTC); null if no key is replaced."
    )


class TokenSerializer(SecretAnswer, serializers.ResponseSerializer):
    """A pair of tokens. Lifetimes are in seconds."""

    access_token = serializers.TextField(help_text="A JWT: send it as `Authorization: Bearer`.")
    token_type = serializers.TextField(help_text="`Bearer`.")
    expires_in = serializers.Int64Field(help_text="The lifetime of the access token in seconds.")
    refresh_token = serializers.TextField()
    refresh_expires_in = serializers.Int64Field(
        help_text="The lifetime of the refresh token in seconds. After single sign-on, the lifetime ends with the "
        "session."
    )
    scope = serializers.TextField(help_text="The scopes of the access token, separated by spaces.")
