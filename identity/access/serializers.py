from config.api import serializers
from config.api.secret_answers import SecretAnswer
from identity.access.keys import DEFAULT_DAYS, GRACE_MAX_DAYS, NAME_MAX_LENGTH
from identity.access.models import ApiKey
from identity.access.scopes import SCOPES

EXPIRES_MAX_DAYS = 365
KEY_STATES = ("active", "expired", "revoked", "suspended", "to_collect")


class ApiKeyRequestSerializer(serializers.RequestSerializer):
    """An API key to be."""

    refuses_unknown = True
    name = serializers.NameField(max_length=NAME_MAX_LENGTH, help_text="Your description of its purpose.")
    scopes = serializers.ListField(
        child=serializers.OneOfField(SCOPES),
        min_length=1,
        max_length=len(SCOPES),
        allow_null=True,
        default=None,
        help_text="Its scopes; null: all rights of the account.",
    )
    expires_days = serializers.Int32Field(
        min_value=1, max_value=EXPIRES_MAX_DAYS, default=DEFAULT_DAYS, help_text="After how many days it ends."
    )


class KeyRotationRequestSerializer(serializers.RequestSerializer):
    """Time for which the old key keeps working."""

    refuses_unknown = True
    is_optional = True
    grace_days = serializers.Int32Field(min_value=0, max_value=GRACE_MAX_DAYS, default=7, help_text="In days.")


class ApiKeySerializer(serializers.ModelResponseSerializer):
    """An API key, without its secrets."""

    scopes = serializers.ListField(child=serializers.TextField(), allow_null=True)
    state = serializers.OneOfField(
        KEY_STATES, help_text="`to_collect`: collect the new key. `suspended`: confirm it at `/developers/keys`."
    )

    class Meta:
        model = ApiKey
        fields = [
            "id", "name", "scopes", "state", "created_at", "expires_at", "revoked_at", "last_used_at", "replaces",
        ]  # fmt: skip
        extra_kwargs = {"replaces": {"source": "replaces_id"}}


class ApiKeysPageSerializer(serializers.PageSerializer):
    """A page of the account's API keys."""

    api_keys = ApiKeySerializer(many=True, help_text="The newest first.")


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


class TokenSerializer(SecretAnswer, serializers.ResponseSerializer):
    """A pair of tokens; lifetimes are in seconds."""

    access_token = serializers.TextField(help_text="A JWT: send it as `Authorization: Bearer`.")
    token_type = serializers.TextField(help_text="`Bearer`.")
    expires_in = serializers.Int64Field(help_text="How long the access token lasts, in seconds.")
    refresh_token = serializers.TextField()
    refresh_expires_in = serializers.Int64Field(help_text="How long the refresh token lasts, in seconds.")
    scope = serializers.TextField(help_text="The scopes of the tokens, separated by blanks.")
