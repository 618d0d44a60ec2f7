from typing import Any

from drf_spectacular.utils import extend_schema_field

from config.api import serializers
from credit.api.shapes import SCALAR, typed
from credit.core import profile

_LENGTH = {"minimum": 0, "maximum": profile.TEXT_MAX_LENGTH}
_MEMBER = {
    "type": typed("string", "The type of the value.", enum=list(profile.KEYWORDS)),
    "title": typed("string", "The label of the field.", maxLength=profile.TITLE_MAX_LENGTH),
    "description": typed("string", "The help text of the form field.", maxLength=profile.DESCRIPTION_MAX_LENGTH),
    profile.X_FACT: typed(
        "string", "The name of the fact with which the API compares the value.", examples=["bank.income_monthly_cents"]
    ),
    "enum": typed("array", "The allowed values.", items=SCALAR, minItems=1, maxItems=profile.ENUM_MAX),
    "format": typed("string", "For a string: `date`, such as 2026-01-31.", enum=["date"]),
    "minLength": typed("integer", "For a string: its minimum length.", **_LENGTH),
    "maxLength": typed("integer", "For a string: its maximum length.", **_LENGTH),
    "minimum": typed("number", "For a number: the minimum."),
    "maximum": typed("number", "For a number: the maximum."),
}
APPLICATION_SCHEMA = typed(
    "object",
    "A JSON Schema 2020-12 in a closed profile: an object of strings, integers, numbers, and booleans, without "
    "nesting.",
    required=["type", "properties"],
    properties={
        "$schema": typed("string", "The dialect of the schema.", enum=[profile.DIALECT]),
        "type": typed("string", "Always `object`.", enum=["object"]),
        "title": typed(
            "string", "The title of the form, which applicants also see at `/my`.", maxLength=profile.TITLE_MAX_LENGTH
        ),
        "description": typed(
            "string",
            "The introduction of the form, which applicants also see at `/my`.",
            maxLength=profile.DESCRIPTION_MAX_LENGTH,
        ),
        "properties": typed(
            "object",
            f"The fields by name, at most {profile.MEMBERS_MAX}.",
            additionalProperties={"type": "object", "required": ["type"], "properties": _MEMBER},
        ),
        "required": typed("array", "The required fields.", items={"type": "string"}),
    },
)


@extend_schema_field(APPLICATION_SCHEMA)
class ApplicationSchemaField(serializers.FreeField):
    """A schema of an application's data; `profile.check` validates it."""

    def to_internal_value(self, data: Any) -> Any:
        profile.check(data)
        return data


class DueSerializer(serializers.ResponseSerializer):
    """A missing or invalid value."""

    pointer = serializers.TextField(
        help_text="The JSON pointer to the value in the application: `/applicants`, `/documents`, `/application_data`, "
        "or a pointer below `/application_data`. If the offer has ended, the pointer is `/offer_id`."
    )
    title = serializers.TextField(help_text="The label of the field, or the title of the document.")
    type = serializers.TextField(help_text="The JSON type of the value, or `document`.")
    why = serializers.TextField(help_text="A human-readable description of the required action.")


class RequiredDocumentSerializer(serializers.ResponseSerializer):
    """A document that the offer requires."""

    name = serializers.TextField(help_text="The required document.")
    document_id = serializers.TextField(
        allow_null=True,
        help_text="The id for uploads to `…/documents/{document_id}/files`. Null for an offer, and while the document "
        "is not on the application's checklist.",
    )
    status = serializers.TextField(
        allow_null=True,
        help_text="The status of the document: `requested`, `received`, or `accepted`. Null if `document_id` is null.",
    )


class RequirementsSerializer(serializers.ResponseSerializer):
    """An offer's requirements, and the items that are missing or invalid."""

    currently_due = DueSerializer(
        many=True,
        help_text="The missing or invalid items. Empty if the application meets the requirements. For an offer: the "
        "items that an empty application would lack.",
    )
    application_schema = serializers.FreeField(
        allow_null=True,
        shape=serializers.OPEN_OBJECT,
        help_text="The JSON Schema 2020-12 of `application_data`. Null for any data.",
    )
    documents = RequiredDocumentSerializer(
        many=True, help_text="The required documents. Each document requires a file before the submission."
    )
    applicants = serializers.FreeField(
        allow_null=True,
        shape=serializers.OPEN_OBJECT,
        help_text="The JSON Schema 2020-12 of `applicants`. Null if the offer does not require applicants.",
    )
