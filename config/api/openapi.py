"""The OpenAPI 3.1 document, written from the declarations that also do the work.

drf-spectacular asks this class about each endpoint; everything it answers comes from the `Endpoint` declaration, so the
document can only say what the code does. Each operation lists every status it answers, with the error codes of each.
"""

from collections import defaultdict
from typing import Any, cast

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_parameter_type
from drf_spectacular.utils import OpenApiParameter

from config.api import errors, idempotency, throttling, views
from config.api.credentials import ANY_CALLER, CALLER_ERRORS, FIRST_PARTY, PUBLIC
from config.api.fields import (
    FlagField,
    FreeField,
    Int32Field,
    Int64Field,
    NumberField,
    OneOfField,
    PageField,
)
from config.api.ids import INT64_MAX, INT64_MIN

ERROR_SCHEMA = {
    "type": "object",
    "required": ["error", "message", "code"],
    "properties": {
        "error": {"type": "string", "description": "The kind of error, as a slug."},
        "message": {"type": "string", "description": "What happened, for a person."},
        "code": {"type": "string", "pattern": "^E[0-9]+$", "description": "What happened, for a program."},
        "request_id": {"type": ["string", "null"], "format": "uuid"},
        "details": {
            "anyOf": [
                {"type": "object"},
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["field", "message"],
                        "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                    },
                },
            ]
        },
    },
}
SECURITY_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A JWT, or an API key together with a signature.",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def declared_errors(declared: views.Endpoint) -> list[type[errors.ApiError]]:
    """Return every error class that an endpoint may answer with, its own last."""
    found: list[type[errors.ApiError]] = [errors.NotAcceptable, errors.HttpsRequired, errors.InvalidHost]
    found += [throttling.RateLimited, errors.InternalError, errors.Unavailable]
    if declared.access != PUBLIC:
        found += CALLER_ERRORS
        if declared.access != ANY_CALLER:
            found.append(views.InsufficientScope)
    if declared.query is not None:
        found.append(errors.ValidationFailed)
        fields = declared.query.shared().fields.values()
        if any(isinstance(field, PageField) for field in fields):
            found.append(errors.InvalidPagination)
        if any(field.required for field in fields):
            found.append(errors.MissingParameter)
    if declared.body is not None:
        found += [
            errors.ValidationFailed,
            errors.MalformedJSON,
            errors.BodyTimeout,
            errors.PayloadTooLarge,
            errors.UnsupportedMediaType,
        ]
    for part in (declared.body, declared.query):
        fields_of = part.shared().fields.values() if part is not None else ()
        found += [field.refusal for field in fields_of if isinstance(field, OneOfField)]
    if declared.idempotent or declared.reserves:
        found += [
            idempotency.InvalidIdempotencyKey,
            idempotency.IdempotencyMismatch,
            idempotency.RequestInProgress,
        ]
    found += declared.errors
    return list(dict.fromkeys(found))


class EndpointSchema(AutoSchema):
    """drf-spectacular's questions about one operation, answered from its declaration."""

    def _method(self) -> Any:
        """Return the method of the operation at hand."""
        view: Any = self.view
        return getattr(view, view.action)

    @property
    def declared(self) -> views.Endpoint:
        """Return the declaration of the operation at hand."""
        return cast("views.Endpoint", self._method().endpoint)

    def get_operation_id(self) -> str:
        """Name the operation after its method: `applications_create`."""
        stem = type(self.view).__name__.removesuffix("ViewSet")
        words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in stem).strip("_")
        return f"{words}_{self._method().__name__}"

    def get_tags(self) -> list[str]:
        """Group operations by room."""
        return [getattr(self.view, "tag", type(self.view).__module__.split(".")[0])]

    def get_summary(self) -> str:
        """Return the first line of the method's docstring."""
        return self._docstring()[0]

    def get_description(self) -> str:  # type: ignore[override]
        """Return the rest of the method's docstring, and who may call."""
        access = self.declared.access
        who = {
            PUBLIC: "Public.",
            ANY_CALLER: "Any credential.",
            FIRST_PARTY: "The account's own tokens and API keys without a scope list.",
        }.get(access, f"Needs the scope `{access}` where the credential is limited to scopes.")
        return f"{self._docstring()[1]}\n\n{who}".strip()

    def _docstring(self) -> tuple[str, str]:
        """Split the method's docstring into its first paragraph and the rest, unfolded."""
        text = self._method().__doc__ or ""
        first, _, rest = text.strip().partition("\n\n")
        paragraphs = [" ".join(paragraph.split()) for paragraph in rest.split("\n\n")]
        return " ".join(first.split()), "\n\n".join(paragraphs).strip()

    def get_auth(self) -> list[dict[str, list[str]]]:
        """Return the ways to authenticate; none for a public operation."""
        if self.declared.access == PUBLIC:
            return [{}]
        return [{"bearer": []}, {"apiKey": []}]

    def _get_serializer(self) -> Any:
        """Return no serializer of the view: declarations say what there is."""
        return None

    def get_request_serializer(self) -> Any:
        """Return the body that is declared."""
        return self.declared.body

    def get_override_parameters(self) -> list[Any]:
        """Return the query parameters and headers that are declared."""
        parameters: list[Any] = []
        if self.declared.query is not None:
            for name, field in self.declared.query.shared().fields.items():
                schema: Any = self._map_serializer_field(field, "request")
                parameters.append(
                    build_parameter_type(
                        name=name,
                        schema=schema,
                        location=OpenApiParameter.QUERY,
                        required=field.required,
                        description=field.help_text or None,
                    )
                )
        if self.declared.idempotent or self.declared.reserves:
            parameters.append(
                build_parameter_type(
                    name="Idempotency-Key",
                    schema={"type": "string", "format": "uuid"},
                    location=OpenApiParameter.HEADER,
                    description="A retry with the same key and request gets the first answer again.",
                )
            )
        return parameters

    def _process_override_parameters(self, direction: str = "request") -> dict[Any, Any]:  # noqa: ARG002
        """Hand drf-spectacular the parameters in the form it keeps them in."""
        return {(one["name"], one["in"]): one for one in self.get_override_parameters()}

    def _get_response_bodies(self, direction: str = "response") -> dict[str, Any]:  # noqa: ARG002
        """Return every status the operation answers."""
        declared = self.declared
        success: dict[str, Any] = {"description": "Success."}
        if declared.answer is not None:
            component = self.resolve_serializer(declared.answer, "response")
            schema: dict[str, Any] = dict(component.ref)
            if declared.many:
                schema = {"type": "array", "items": schema}
            success["content"] = {declared.media_type: {"schema": schema}}
        elif declared.media_type != "application/json":
            success["content"] = {declared.media_type: {"schema": {"type": "string"}}}
        elif getattr(self._method(), "opaque", False):
            success["content"] = {declared.media_type: {"schema": {"type": "object"}}}
        bodies = {str(declared.status): success}
        by_status: dict[int, list[type[errors.ApiError]]] = defaultdict(list)
        for error in declared_errors(declared):
            by_status[error.status].append(error)
        for status in sorted(by_status):
            bodies[str(status)] = {
                "description": " · ".join(f"{error.code} {error.error}" for error in by_status[status]),
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            }
        for status, answer in (declared.also or {}).items():
            bodies[str(status)] = {"description": "Not modified." if status == 304 else "The same members."}
            if answer is not None:
                schema = dict(self.resolve_serializer(answer, "response").ref)
                bodies[str(status)]["content"] = {declared.media_type: {"schema": schema}}
        return dict(sorted(bodies.items()))


def complete_document(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add what belongs to the document as a whole: the error schema, the ways to authenticate, the server."""
    from django.conf import settings

    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    components["securitySchemes"] = SECURITY_SCHEMES
    address = settings.CHAIN_URL if settings.SERVICE == "ledger" else settings.HOST_ROOT
    result["servers"] = [{"url": address}]
    return result


class _FieldExtension(OpenApiSerializerFieldExtension):
    """The schema of a field type of ours."""

    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the schema; drf-spectacular adds null, the default and the help text."""
        return field_schema(self.target)


class Int64Extension(_FieldExtension):
    """Integers."""

    target_class = "config.api.fields.Int64Field"


class NumberExtension(_FieldExtension):
    """Numbers."""

    target_class = "config.api.fields.NumberField"


class FlagExtension(_FieldExtension):
    """Booleans."""

    target_class = "config.api.fields.FlagField"


class TextExtension(_FieldExtension):
    """Texts."""

    target_class = "config.api.fields.TextField"


class FreeExtension(_FieldExtension):
    """Anything."""

    target_class = "config.api.fields.FreeField"


def field_schema(field: Any) -> dict[str, Any]:
    """Return the JSON Schema of a field of `config.api.fields`."""
    if isinstance(field, Int64Field):
        schema: dict[str, Any] = {
            "type": "integer",
            "format": "int32" if isinstance(field, Int32Field) else "int64",
        }
        if field.min_value != INT64_MIN:
            schema["minimum"] = field.min_value
        if field.max_value != INT64_MAX:
            schema["maximum"] = field.max_value
        return schema
    if isinstance(field, NumberField):
        return {"type": "number", "format": "double", "minimum": field.min_value, "maximum": field.max_value}
    if isinstance(field, FlagField):
        return {"type": "boolean"}
    if isinstance(field, OneOfField):
        # drf-spectacular adds null to the type, which an enumeration without it would take back.
        return {"type": "string", "enum": [*field.allowed, *([None] if field.allow_null else [])]}
    if isinstance(field, FreeField):
        return {"type": ["object", "array", "string", "number", "boolean"]}
    limits = {"minLength": field.min_length} if field.min_length else {}
    return {"type": "string", **limits, "maxLength": field.max_length}
