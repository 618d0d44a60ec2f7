from typing import Any

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from identity.access.models import OAuthClient
from identity.access.passwords import PASSWORD_MAX
from identity.access.scopes import SCOPES

ADDRESS_MAX_LENGTH = 2_048


class OAuthClientRequestSerializer(serializers.RequestSerializer):
    """An OAuth client to register."""

    refuses_unknown = True
    name = serializers.NameField(help_text="The name on the consent page. It must not look like another client's name.")
    redirect_uris = serializers.ListField(
        child=serializers.TextField(min_length=1, max_length=ADDRESS_MAX_LENGTH),
        min_length=1,
        max_length=10,
        help_text="The redirect URIs: https, or http with 127.0.0.1, [::1], or localhost.",
    )
    scopes = serializers.ListField(
        child=serializers.OneOfField(SCOPES),
        min_length=1,
        max_length=len(SCOPES),
        help_text="The scopes that the client can request.",
    )
    public = serializers.FlagField(
        default=False,
        help_text="True for a client that can't store a secret, such as a mobile app or a web page. The client then "
        "has no secret, and authenticates with PKCE.",
    )


class OAuthClientChangeRequestSerializer(OAuthClientRequestSerializer):
    """Changes of an OAuth client. Absent fields stay unchanged."""

    public = None  # type: ignore[assignment]  # None removes an inherited field

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for field in fields.values():
            field.required = False
        return fields


class OAuthClientSerializer(serializers.ModelResponseSerializer):
    """An OAuth client, without its secret."""

    redirect_uris = serializers.ListField(
        source="addresses", child=serializers.TextField(), help_text="The redirect URIs of the client."
    )
    scopes = serializers.ListField(child=serializers.TextField())
    public = serializers.FlagField(source="is_public", help_text="True if the client has no secret.")

    class Meta:
        model = OAuthClient
        fields = ["client_id", "name", "redirect_uris", "scopes", "public", "created_at"]
        extra_kwargs = {
            "client_id": {"help_text": "The client's public id."},
            "name": {"help_text": "The name on the consent page."},
            "created_at": {"source": "created", "help_text": "When the client was created (UTC)."},
        }


class OAuthClientsPageSerializer(serializers.PageSerializer):
    """A page of the account's OAuth clients."""

    clients = OAuthClientSerializer(many=True, help_text="The clients, newest first.")


class IssuedClientSerializer(SecretAnswer, OAuthClientSerializer):
    """An OAuth client and its secret."""

    client_secret = serializers.TextField(
        source="plain_secret",
        allow_null=True,
        help_text="The client's secret; null for a public client. No other operation returns it.",
    )

    class Meta(OAuthClientSerializer.Meta):
        fields = [*OAuthClientSerializer.Meta.fields, "client_secret"]


class GrantRequestSerializer(serializers.RequestSerializer):
    """A client's request to the token endpoint (RFC 6749). The required fields depend on `grant_type`."""

    grant_type = serializers.TextField(
        max_length=255, required=False, help_text="The grant: `authorization_code` or `refresh_token`."
    )
    code = serializers.TextField(
        max_length=512, required=False, help_text="The authorization code that the app's redirect URI received."
    )
    redirect_uri = serializers.TextField(
        max_length=2048, required=False, help_text="The redirect URI of the authorization request."
    )
    code_verifier = serializers.TextField(
        max_length=128, required=False, help_text="The string whose SHA-256 was the `code_challenge` (PKCE)."
    )
    refresh_token = serializers.TextField(max_length=512, required=False)
    scope = serializers.TextField(
        max_length=1024,
        required=False,
        help_text="The scopes of the new access token, separated by spaces, for the grant `refresh_token`. The scopes "
        "must be a subset of the granted scopes. Default: all granted scopes.",
    )
    client_id = serializers.TextField(max_length=255, required=False)
    client_secret = serializers.TextField(max_length=512, required=False)


class RevocationRequestSerializer(serializers.RequestSerializer):
    """A client's request to revoke a token (RFC 7009)."""

    token = serializers.TextField(min_length=1, max_length=PASSWORD_MAX, help_text="The token to revoke.")
    token_type_hint = serializers.TextField(
        max_length=64, required=False, help_text="A hint: `access_token` or `refresh_token`."
    )
    client_id = serializers.TextField(max_length=255, required=False)
    client_secret = serializers.TextField(max_length=512, required=False)
