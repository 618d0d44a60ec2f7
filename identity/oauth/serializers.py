from typing import Any

from config.api import serializers
from identity.access.scopes import SCOPES

ADDRESSES_MAX = 10
ADDRESS_MAX_LENGTH = 2_048


def _name(**options: Any) -> Any:
    return serializers.PrintableIdField(help_text="What people are asked about. No other client has it.", **options)


def _redirect_uris(**options: Any) -> Any:
    return serializers.ListField(
        child=serializers.TextField(min_length=1, max_length=ADDRESS_MAX_LENGTH),
        min_length=1,
        max_length=ADDRESSES_MAX,
        help_text="Redirect URIs: https, or http with 127.0.0.1, [::1] or localhost.",
        **options,
    )


def _scopes(**options: Any) -> Any:
    return serializers.ListField(
        child=serializers.OneOfField(SCOPES),
        min_length=1,
        max_length=len(SCOPES),
        help_text="The scopes that it may request.",
        **options,
    )


class OAuthClientRequestSerializer(serializers.RequestSerializer):
    """An OAuth client to be."""

    name = _name()
    redirect_uris = _redirect_uris()
    scopes = _scopes()
    public = serializers.FlagField(
        default=False, help_text="Whether it keeps no secret (an app, a page) and proves itself with PKCE."
    )


class OAuthClientChangeRequestSerializer(serializers.RequestSerializer):
    """Changes of an OAuth client: the members that are present."""

    name = _name(required=False)
    redirect_uris = _redirect_uris(required=False)
    scopes = _scopes(required=False)


class OAuthClientSerializer(serializers.ResponseSerializer):
    """An OAuth client, without its secret."""

    client_id = serializers.TextField(help_text="What the client names itself with; no secret.")
    name = serializers.TextField(help_text="What people are asked about.")
    redirect_uris = serializers.ListField(
        source="addresses", child=serializers.TextField(), help_text="The addresses that browsers are sent back to."
    )
    scopes = serializers.ListField(child=serializers.TextField(), help_text="What it may ask people for.")
    public = serializers.FlagField(source="is_public", help_text="Whether it keeps no secret.")
    created_at = serializers.DateTimeField(source="created")


class OAuthClientsPageSerializer(serializers.PageSerializer):
    """A page of the account's OAuth clients."""

    clients = OAuthClientSerializer(many=True, help_text="The newest first.")


class IssuedClientSerializer(OAuthClientSerializer):
    """An OAuth client and its secret, which is shown this once."""

    client_id = serializers.TextField(help_text="What the client names itself with.")
    client_secret = serializers.TextField(
        source="plain_secret", allow_null=True, help_text="Shown this once; null for a public client."
    )
