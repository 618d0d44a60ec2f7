from typing import Any
from urllib.parse import urlsplit

from rest_framework import serializers

from config.api.serializers import (
    FreeField,
    IdField,
    Int64Field,
    RequestSerializer,
    ResponseSerializer,
    StatusField,
    TextField,
)
from identity.kyc.machine import MACHINE

ADDRESS_MAX_LENGTH = 2048


class VerificationBody(RequestSerializer):
    """What may be said about a new verification; everything may be left out."""

    user_id = IdField(required=False, help_text="The caller's own id.")
    redirect_uri = TextField(
        max_length=ADDRESS_MAX_LENGTH, allow_null=True, default=None, help_text="Where the person goes afterwards."
    )
    template_id = IdField(allow_null=True, default=None, help_text="The provider's template for the steps.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a redirect address that no browser should follow from our page."""
        address = attrs["redirect_uri"]
        if address is None:
            return attrs
        try:
            parts = urlsplit(address)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            raise serializers.ValidationError({"redirect_uri": ["Must be an http or https address."]})
        return attrs


class VerificationAnswer(ResponseSerializer):
    """An identity verification."""

    verification_id = TextField(source="id")
    user_id = TextField()
    status = StatusField(MACHINE.statuses)
    provider = TextField()
    provider_status = TextField(help_text="The status in the provider's own words.")
    steps = FreeField(help_text="The provider's steps and where each stands.")
    hosted_url = TextField(source="live_url", allow_null=True, help_text="The provider's page, while it is open.")
    expires_at = serializers.DateTimeField()
    attempt = Int64Field()
    previous_attempt_id = TextField(allow_null=True)
    last_error = FreeField(allow_null=True, help_text="Why it ended: code, message, steps.")
    created_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField(allow_null=True)
