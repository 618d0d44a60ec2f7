import re
from typing import Any
from urllib.parse import urlsplit

from django.utils.encoding import iri_to_uri

from config.api import serializers
from config.core.redirect_uris import can_be_opened
from identity.kyc.models import KycVerification

ADDRESS_MAX_LENGTH = 2048
_STEPS = {"type": "object", "additionalProperties": {"type": "string"}}
_LAST_ERROR = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "The code of the error."},
        "message": {"type": "string", "description": "The error in words."},
        "steps": {"type": "array", "items": {"type": "string"}, "description": "The vendor's steps that failed."},
    },
}
_UNENCODED = re.compile(r"[\s\\]")
_NOT_OPENED = (
    "Must be an http or https address with a host that browsers can open. Percent-encode spaces, and write other host "
    "names in their xn-- form."
)


class VerificationRequestSerializer(serializers.RequestSerializer):
    """Options of a new verification. All are optional."""

    user_id = serializers.IdField(required=False, help_text="Your own `user_id`, as a string.")
    redirect_uri = serializers.TextField(
        max_length=ADDRESS_MAX_LENGTH,
        **serializers.NULLABLE,
        help_text="The URL that the sandbox's page links to at the end. Plaid ignores the URL.",
    )
    template_id = serializers.IdField(**serializers.NULLABLE, help_text="The vendor's template of the steps.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject a redirect address that is not http(s), contains user information, or can't be opened by browsers."""
        address = attrs["redirect_uri"]
        if address is None:
            return attrs
        plain = iri_to_uri(address.partition("#")[0])
        is_typed = address.isprintable() and not _UNENCODED.search(address)
        parts = urlsplit(plain) if is_typed and can_be_opened(plain) else urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            raise serializers.ValidationError({"redirect_uri": [_NOT_OPENED]})
        return attrs


class VerificationSerializer(serializers.ModelResponseSerializer):
    """An identity verification."""

    verification_id = serializers.TextField(source="id", help_text="The verification's id.")
    hosted_url = serializers.TextField(
        source="live_url",
        allow_null=True,
        help_text="The URL of the vendor's page. Null unless `status` is `requires_input` or `processing`.",
    )
    attempt = serializers.Int64Field()
    previous_attempt_id = serializers.TextField(
        allow_null=True, help_text="The id of the previous verification. Null for the first verification."
    )

    class Meta:
        model = KycVerification
        fields = [
            "verification_id", "user_id", "status", "provider", "provider_status", "steps", "name_match", "hosted_url",
            "expires_at", "attempt", "previous_attempt_id", "last_error", "created_at", "completed_at",
        ]  # fmt: skip
        extra_kwargs = {"steps": {"shape": _STEPS}, "last_error": {"shape": _LAST_ERROR}}
