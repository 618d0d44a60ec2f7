from config.api import serializers
from identity.access.keys import DEFAULT_DAYS, NAME_MAX_LENGTH
from identity.access.own_keys import GRACE_MAX_DAYS
from identity.access.scopes import SCOPES

EXPIRES_MAX_DAYS = 365
KEY_STATES = ("active", "expired", "revoked", "to_collect")


class ApiKeyRequestSerializer(serializers.RequestSerializer):
    """An API key to be."""

    name = serializers.PrintableIdField(max_length=NAME_MAX_LENGTH, help_text="What it is for, in your words.")
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

    is_optional = True
    grace_days = serializers.Int32Field(min_value=0, max_value=GRACE_MAX_DAYS, default=7, help_text="In days.")


class ApiKeySerializer(serializers.ResponseSerializer):
    """An API key, without its secrets."""

    id = serializers.TextField(help_text="The key's id, which is no secret.")
    name = serializers.TextField(help_text="What it is for, in your words.")
    scopes = serializers.ListField(
        child=serializers.TextField(), allow_null=True, help_text="Null: whatever the account may do."
    )
    state = serializers.OneOfField(KEY_STATES, help_text="`to_collect`: operations rotated it, and it waits for you.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(help_text="When it ends (UTC).")
    revoked_at = serializers.DateTimeField(allow_null=True, help_text="When it was revoked (UTC); null: it was not.")
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute (UTC); null: it was never used.")
    replaces = serializers.TextField(
        source="replaces_id", allow_null=True, help_text="The id of the key before it; null where there is none."
    )


class ApiKeysPageSerializer(serializers.PageSerializer):
    """A page of the account's API keys."""

    api_keys = ApiKeySerializer(many=True, help_text="The newest first.")
