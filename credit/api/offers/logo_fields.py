"""Logos of lenders: Base64 in requests, a URL in responses."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework.fields import empty

from config.api import serializers
from credit.core.logos import BASE64_MAX_LENGTH, MAX_BYTES, PNG_SIDE_MAX, TOO_LARGE, NotALogo, read_base64


@extend_schema_field({"type": "string", "format": "byte", "maxLength": BASE64_MAX_LENGTH})
class LogoField(serializers.TextField):
    """A PNG or SVG file in Base64. Omitting the field keeps the logo; null removes it."""

    default_error_messages = {"max_length": TOO_LARGE}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=BASE64_MAX_LENGTH,
            required=False,
            allow_null=True,
            help_text=f"The lender's logo as Base64: a PNG of at most {PNG_SIDE_MAX:,} by {PNG_SIDE_MAX:,} pixels, or "
            f"an SVG without scripts, animations, and references to other files. The file has at most {MAX_BYTES:,} "
            "bytes. Omit it to keep the current logo; null removes it.",
            **options,
        )

    def run_validation(self, data: Any = empty) -> Any:
        text = super().run_validation(data)
        try:
            return text if text is None else read_base64(text)
        except NotALogo as refusal:
            raise serializers.ValidationError(str(refusal)) from None


def logo_url() -> serializers.TextField:
    return serializers.TextField(
        allow_null=True, help_text="The address of the logo. The file at it never changes. Null for no logo."
    )
