"""The OpenAPI 3.1 document, written from the declarations that also do the work.

drf-spectacular asks this class about each endpoint; everything it answers comes from the `Endpoint` declaration, so the
document can only say what the code does. Each operation lists every status it answers, with the error codes of each.
"""

from collections import defaultdict
from typing import Any, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from config.api import idempotency, rate_limits
from config.api.credentials import ANY_CALLER, CALLER_ERRORS, FIRST_PARTY, PUBLIC
from config.api.declarations import Endpoint
from config.api.permissions import InsufficientScope
from config.api.serializers import OneOfField, PageField
from config.core import errors

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
    "bearer": {"type": "http", "scheme": "bearer", "description": "A JWT, or an API key together with a signature."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def declared_errors(declared: Endpoint) -> list[type[errors.ApiError]]:
    found: list[type[errors.ApiError]] = [errors.NotAcceptable, errors.HttpsRequired, errors.InvalidHost]
    found += [rate_limits.RateLimited, errors.InternalError, errors.Unavailable]
    if declared.access != PUBLIC:
        found += CALLER_ERRORS
        if declared.access != ANY_CALLER:
            found.append(InsufficientScope)
    if declared.query is not None:
        found.append(errors.ValidationFailed)
        fields = declared.query.shared().fields.values()
        if any(isinstance(field, PageField) for field in fields):
            found.append(errors.InvalidPagination)
        if any(field.required for field in fields):
            found.append(errors.MissingParameter)
    if declared.body is not None:
        found += [errors.ValidationFailed, errors.MalformedJSON, errors.PayloadTooLarge, errors.UnsupportedMediaType]
    for part in (declared.body, declared.query):
        fields_of = part.shared().fields.values() if part is not None else ()
        found += [field.refusal for field in fields_of if isinstance(field, OneOfField)]
    if declared.idempotent:
        found += [idempotency.InvalidIdempotencyKey, idempotency.IdempotencyMismatch, idempotency.RequestInProgress]
    found += declared.errors
    return list(dict.fromkeys(found))


class EndpointSchema(AutoSchema):
    @property
    def method_handler(self) -> Any:
        view: Any = self.view
        return getattr(view, view.action)

    @property
    def declared(self) -> Endpoint:
        return cast("Endpoint", self.method_handler.endpoint)

    def get_operation_id(self) -> str:
        stem = type(self.view).__name__.removesuffix("ViewSet")
        words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in stem).strip("_")
        # A page of a list is an object, which drf-spectacular does not believe of a method called `list`.
        return f"{words}_{'list' if self.method_handler.__name__ == 'page' else self.method_handler.__name__}"

    def get_tags(self) -> list[str]:
        return [getattr(self.view, "tag", type(self.view).__module__.split(".")[0])]

    def get_summary(self) -> str:
        return self._docstring()[0]

    def get_description(self) -> str:  # type: ignore[override]
        access = self.declared.access
        who = {
            PUBLIC: "Public.",
            ANY_CALLER: "Any credential.",
            FIRST_PARTY: "The account's own tokens and API keys without a scope list.",
        }.get(access, f"Needs the scope `{access}` where the credential is limited to scopes.")
        return f"{self._docstring()[1]}\n\n{who}".strip()

    def _docstring(self) -> tuple[str, str]:
        text = self.method_handler.__doc__ or ""
        first, _, rest = text.strip().partition("\n\n")
        paragraphs = [" ".join(paragraph.split()) for paragraph in rest.split("\n\n")]
        return " ".join(first.split()), "\n\n".join(paragraphs).strip()

    def get_auth(self) -> list[dict[str, list[str]]]:
        if self.declared.access == PUBLIC:
            return [{}]
        return [{"bearer": []}, {"apiKey": []}]

    def get_request_serializer(self) -> Any:
        return self.declared.body

    def get_override_parameters(self) -> list[Any]:
        parameters: list[Any] = []
        if self.declared.query is not None:
            parameters.append(self.declared.query)
        if self.declared.idempotent:
            text = "A retry with the same key and request gets the first answer again."
            parameters.append(
                OpenApiParameter("Idempotency-Key", OpenApiTypes.UUID, OpenApiParameter.HEADER, description=text)
            )
        return parameters

    def get_response_serializers(self) -> Any:
        declared = self.declared
        answer: Any = declared.answer
        if answer is not None:
            answer = answer(many=True) if declared.many else answer
        elif declared.media_types != ("application/json",):
            is_text = declared.media_types[0].startswith("text/")
            answer = OpenApiTypes.STR if is_text else OpenApiTypes.BINARY
        success = OpenApiResponse(answer, description="Success.")
        responses: dict[Any, Any] = {(declared.status, one): success for one in declared.media_types}
        by_status: dict[int, list[type[errors.ApiError]]] = defaultdict(list)
        for error in declared_errors(declared):
            by_status[error.status].append(error)
        for status in sorted(by_status):
            responses[status, "application/json"] = OpenApiResponse(
                {"$ref": "#/components/schemas/Error"},
                description=" · ".join(f"{error.code} {error.error}" for error in by_status[status]),
            )
        for status, other in (declared.also or {}).items():
            same = "Not modified." if status == 304 else "The same members."
            is_same = other is None or other is declared.answer
            description = same if is_same else str(other.__doc__).partition("\n")[0]
            responses[status, declared.media_types[0]] = OpenApiResponse(other, description=description)
        return responses


def complete_document(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    from django.conf import settings

    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    components["securitySchemes"] = SECURITY_SCHEMES
    for schema in components["schemas"].values():
        for member in schema.get("properties", {}).values():
            member.pop("x-spec-enum-id", None)  # drf-spectacular's note to itself
            if {} in member.get("oneOf", ()):
                del member["oneOf"]  # "anything, or null" is anything; both at once would match twice
    address = settings.CHAIN_URL if settings.SERVICE == "ledger" else settings.HOST_ROOT
    result["servers"] = [{"url": address}]
    return result
