from typing import Any
from urllib.parse import urlsplit

from config.api import serializers
from identity.kyc.machine import MACHINE
from identity.providers.base import NameMatch

ADDRESS_MAX_LENGTH = 2048


class VerificationRequestSerializer(serializers.RequestSerializer):
    """Options of a new verification; all are optional."""

    user_id = serializers.IdField(required=False, help_text="The caller's own id.")
    redirect_uri = serializers.TextField(
        max_length=ADDRESS_MAX_LENGTH, allow_null=True, default=None, help_text="Where the person goes afterwards."
    )
    template_id = serializers.IdField(allow_null=True, default=None, help_text="The provider's template for the steps.")

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


class VerificationSerializer(serializers.ResponseSerializer):
    """An identity verification."""

    verification_id = serializers.TextField(source="id", help_text="The verification's id.")
    user_id = serializers.TextField(help_text="Whose identity it is.")
    status = serializers.StatusField(MACHINE.statuses)
    provider = serializers.TextField(help_text="Who verifies.")
    provider_status = serializers.TextField(help_text="The status in the provider's own words.")
    steps = serializers.FreeField(help_text="The provider's steps and where each stands.")
    name_match = serializers.OneOfField(
        NameMatch, help_text="The provider's word on whether the person's name is that of its sources."
    )
    hosted_url = serializers.TextField(
        source="live_url", allow_null=True, help_text="The vendor's page; null once it is closed."
    )
    expires_at = serializers.DateTimeField(help_text="When it ends unless it is completed (UTC).")
    attempt = serializers.Int64Field(help_text="Counts the person's verifications from 1.")
    previous_attempt_id = serializers.TextField(
        allow_null=True, help_text="The verification before this one; null for the first."
    )
    last_error = serializers.FreeField(allow_null=True, help_text="Why it ended: code, message, steps.")
    created_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField(allow_null=True, help_text="When it was decided (UTC); null before.")
