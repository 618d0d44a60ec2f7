from config.api import serializers
from identity.access.keys import DEFAULT_DAYS, NAME_MAX_LENGTH
from identity.access.own_keys import GRACE_MAX_DAYS
from identity.access.scopes import SCOPES
from identity.models import ApiKey

EXPIRES_MAX_DAYS = 365
KEY_STATES = ("active", "expired", "revoked", "suspended", "to_collect")


class ApiKeyRequestSerializer(serializers.RequestSerializer):
    """An API key to be."""

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
