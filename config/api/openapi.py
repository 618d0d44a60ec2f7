"""The OpenAPI 3.1 document, generated from the declarations that the endpoints enforce.

drf-spectacular calls `EndpointSchema` for each endpoint. Every value comes from the `Endpoint` declaration, so the
document matches the code.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from config.api import idempotency, rate_limits
from config.api.samples import add_samples
from config.api.serializers import OneOfField, PageField
from config.api.views import Endpoint
from config.core import errors
from config.core.credentials import (
    ANY_CALLER,
    FIRST_PARTY,
    LOG_IN,
    PUBLIC,
    SAFE_METHODS,
    InsufficientScope,
)
from config.core.errors import PROBLEM
from config.core.idempotency_keys import InvalidIdempotencyKey, RequestInProgress

_READ_AS_OBJECTS = ("application/json", "application/x-www-form-urlencoded")


def add_examples(result: dict[str, Any], examples: dict[str, Any]) -> None:
    for operations in result["paths"].values():
        for operation in operations.values():
            _add(operation, examples.get(operation["operationId"], {}))
    result["components"]["schemas"]["Error"]["examples"] = [examples["Error"]["response"]]
    _share(result)


def _add(operation: dict[str, Any], example: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        if parameter.get("required") and parameter["name"] in example.get("parameters", {}):
            parameter["example"] = example["parameters"][parameter["name"]]
    if "request" in example:
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            if media_type in _READ_AS_OBJECTS:
                content["example"] = example["request"]
    if "response" in example:
        kind = "text/" if isinstance(example["response"], str) else "application/json"
        for media_type, content in _answers(operation):
            if media_type.startswith(kind):
                content["example"] = example["response"]


def _answers(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield from answer.get("content", {}).items()


def _share(result: dict[str, Any]) -> None:
    """If a response has no recorded example, use the example of another operation with the same schema."""
    operations = [item for path in result["paths"].values() for item in path.values()]
    answers = [content for operation in operations for _, content in _answers(operation)]
    known = {
        content["schema"]["$ref"]: content["example"]
        for content in answers
        if "example" in content and "$ref" in content["schema"]
    }
    for content in answers:
        schema = content.get("schema", {}).get("$ref")
        if schema in known:
            content.setdefault("example", known[schema])


# Default descriptions of fields and parameters without a `help_text`. The key of an ambiguous path
# parameter also contains the preceding segment of the path, such as `blocks/{number}`.
_OURS = json.loads(Path(__file__).with_name("openapi.json").read_text())
MEMBERS: dict[str, str] = _OURS["members"]
PARAMETERS: dict[str, str] = _OURS["parameters"]


def describe_members(schema: dict[str, Any]) -> None:
    for name, member in schema.get("properties", {}).items():
        text = MEMBERS.get(name)
        if text is None or "description" in member:
            continue
        if "$ref" in member:  # drf-spectacular combines a reference with a description in this form
            member["allOf"] = [{"$ref": member.pop("$ref")}]
        member["description"] = text


def describe_parameters(path: str, operation: dict[str, Any]) -> None:
    pieces = path.split("/")
    before = dict(zip(pieces[1:], pieces, strict=False))
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        for key in (f"{before.get(f'{{{name}}}')}/{{{name}}}", name):
            text = PARAMETERS.get(key) or MEMBERS.get(key)
            if text is not None:
                parameter.setdefault("description", text)
                break


_WORD_ENDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNCOUNTED = frozenset({
    "auth", "oauth", "identity", "kyc", "bankdata", "staging", "health", "metadata", "catalogue", "discovery", "set",
    "openapi",
})  # fmt: skip
# Generated clients use these verbs at the end of an operation's ID.
_VERBS = {"update": "change", "partial_update": "change", "destroy": "remove"}
_FORM = "application/x-www-form-urlencoded"
_REF = "#/components/schemas/"


def declared_errors(declared: Endpoint) -> list[type[errors.ApiError]]:
    error_classes: list[type[errors.ApiError]] = [errors.NotAcceptable, errors.HttpsRequired, errors.InvalidHost]
    error_classes += [rate_limits.RateLimited, errors.InternalError, errors.Unavailable]
    if declared.access != PUBLIC:
        error_classes += declared.caller_errors
        if declared.access != ANY_CALLER:
            error_classes.append(InsufficientScope)
    if declared.parameters is not None:
        error_classes.append(errors.ValidationFailed)
        fields = declared.parameters.shared().fields.values()
        if any(isinstance(field, PageField) for field in fields):
            error_classes.append(errors.InvalidPagination)
        if any(field.required for field in fields):
            error_classes.append(errors.MissingParameter)
    if declared.body is not None:
        error_classes += [
            errors.ValidationFailed,
            errors.MalformedJSON,
            errors.PayloadTooLarge,
            errors.UnsupportedMediaType,
        ]
    for part in (declared.body, declared.parameters):
        fields_of = part.shared().fields.values() if part is not None else ()
        error_classes += [field.refusal for field in fields_of if isinstance(field, OneOfField)]
    if declared.idempotent:
        error_classes += [InvalidIdempotencyKey, idempotency.IdempotencyMismatch, RequestInProgress]
    error_classes += declared.errors
    return list(dict.fromkeys(error_classes))


class EndpointSchema(AutoSchema):
    _responses: tuple[Any, dict[Any, Any]] = (None, {})

    @property
    def method_handler(self) -> Any:
        view: Any = self.view
        return getattr(view, view.action)

    @property
    def declared(self) -> Endpoint:
        return cast("Endpoint", self.method_handler.endpoint)

    def get_operation_id(self) -> str:
        """Return an ID such as `applications_create`: the view's resource in the plural, and the action."""
        words = _WORD_ENDS.sub("_", type(self.view).__name__.removesuffix("ViewSet")).lower()
        plural = words if words.rpartition("_")[2] in _UNCOUNTED else f"{words}s"
        name = self.method_handler.__name__
        return f"{plural}_{_VERBS.get(name, name)}"

    def get_tags(self) -> list[str]:
        return [getattr(self.view, "tag", type(self.view).__module__.split(".")[0])]

    def get_summary(self) -> str:
        return self._docstring()[0]

    def get_description(self) -> str:  # type: ignore[override]
        access = self.declared.access
        restriction = {
            PUBLIC: "Requires no credential.",
            ANY_CALLER: "Requires any credential.",
            FIRST_PARTY: "Requires the account's own log-in, or an unrestricted API key.",
            LOG_IN: "Requires the account's own log-in. API keys and apps get 403 `E2005`.",
        }.get(access, f"Requires the scope `{access}`, unless the credential is unrestricted.")
        if not self.declared.idempotent and self.method not in SAFE_METHODS:
            restriction += " An `Idempotency-Key` is ignored."
        return f"{self._docstring()[1]}\n\n{restriction}".strip()

    def _docstring(self) -> tuple[str, str]:
        text = self.method_handler.__doc__ or ""
        first, _, rest = text.strip().partition("\n\n")
        paragraphs = [" ".join(paragraph.split()) for paragraph in rest.split("\n\n")]
        return " ".join(first.split()), "\n\n".join(paragraphs).strip()

    def get_auth(self) -> list[dict[str, list[str]]]:
        if self.declared.access == PUBLIC:
            return [{}]
        if self.declared.access == LOG_IN:
            return [{"bearer": []}]
        return [{"bearer": []}, {"apiKey": []}]

    def get_extensions(self) -> dict[str, Any]:
        """Return the required scope as `x-scope`.

        Another package generates OAuth security requirements from `x-scope`.
        """
        access = self.declared.access
        return {} if access in {PUBLIC, ANY_CALLER, FIRST_PARTY, LOG_IN} else {"x-scope": access}

    def map_parsers(self) -> list[str]:
        """Return the media types of the body.

        If the endpoint accepts forms, return only forms, so that a generated client sends only one media type.
        """
        known: list[str] = super().map_parsers()
        return [_FORM] if _FORM in known else known

    def get_request_serializer(self) -> Any:
        return self.declared.body

    def get_override_parameters(self) -> list[Any]:
        parameters: list[Any] = []
        if self.declared.parameters is not None:
            parameters.append(self.declared.parameters)
        if self.declared.idempotent:
            meaning = (
                "A UUID. If a request succeeds, a retry with the same key and request returns the same response until "
                "the key expires."
            )
            # With the format `uuid`, generated Python would pass a UUID object to the header, which requires a string.
            schema = {"type": "string", "pattern": "^[0-9A-Fa-f-]{36}$"}
            parameters.append(OpenApiParameter("Idempotency-Key", schema, OpenApiParameter.HEADER, description=meaning))
        return parameters

    def get_response_serializers(self) -> Any:
        """Return the responses of the operation. drf-spectacular calls this method again for each status."""
        operation = (self.method_handler, self.method)
        if self._responses[0] != operation:
            self._responses = (operation, self._response_serializers())
        return dict(self._responses[1])

    def _response_serializers(self) -> dict[Any, Any]:
        declared, view = self.declared, cast("Any", self.view)
        view.pagination_class = None  # prevents drf-spectacular from generating a schema for pages
        media_types = [
            renderer.media_type
            for renderer in getattr(self.method_handler, "renderer_classes", type(view).renderer_classes)
        ]
        answer: Any = declared.answer
        if answer is None and media_types != ["application/json"]:
            is_text = media_types[0].startswith("text/")
            answer = OpenApiTypes.STR if is_text else OpenApiTypes.BINARY
        success = OpenApiResponse(answer, description="Success.")
        # Only JSON responses have the declared schema. Other content types are strings.
        text = success if declared.answer is None else OpenApiResponse(OpenApiTypes.STR, description="Success.")
        responses: dict[Any, Any] = {
            (declared.status, item): success if item == "application/json" else text for item in media_types
        }
        by_status: dict[int, list[type[errors.ApiError]]] = defaultdict(list)
        for error in declared_errors(declared):
            by_status[error.status].append(error)
        for status in sorted(by_status):
            named = " · ".join(f"{error.code} {error.error}" for error in by_status[status])
            for media_type, schema in (("application/json", "Error"), (PROBLEM, "Problem")):
                responses[status, media_type] = OpenApiResponse({"$ref": f"{_REF}{schema}"}, description=named)
        for status, other in getattr(self.method_handler, "also_answers", {}).items():
            responses[status, media_types[0]] = other
        return responses


def routes(patterns: Iterable[Any], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route, pattern


def viewsets(urlconf: str) -> Iterator[tuple[type, Endpoint]]:
    for _, pattern in routes(get_resolver(urlconf).url_patterns):
        view = getattr(pattern.callback, "cls", None)
        for action in getattr(pattern.callback, "actions", {}).values():
            if hasattr(getattr(view, action, None), "endpoint"):
                yield cast("type", view), getattr(view, action).endpoint


def _error_codes(urlconf: str) -> dict[str, Any]:
    errors_by_code = {error.code: error for _, declared in viewsets(urlconf) for error in declared_errors(declared)}
    errors_by_code |= {error.code: error for error in (errors.NotFound, errors.MethodNotAllowed)}
    lines = [
        f"- `{code}` {errors_by_code[code].error} ({errors_by_code[code].status}): {errors_by_code[code].message}"
        for code in sorted(errors_by_code)
    ]
    text = "The code of the error. A code never changes its meaning. The API can return new codes.\n\n"
    return {"type": "string", "enum": sorted(errors_by_code), "description": text + "\n".join(lines)}


# The reference shows the tags in the order of an integration, and other tags by name.
_ORDER = (
    "identity", "accounts", "api-keys", "oauth", "providers", "provider-offers", "applications", "kyc",
    "bankdata", "scoring", "payments", "wallet", "claims", "staging", "webhooks", "requests", "ucp", "record-keys",
    "openapi", "sandbox", "health",
)  # fmt: skip


def _tags(urlconf: str) -> list[dict[str, str]]:
    """Return the tags. The description of a tag is the first docstring of its views."""
    texts: dict[str, str] = {}
    for view, _ in viewsets(urlconf):
        tag = getattr(view, "tag", view.__module__.split(".")[0])
        texts[tag] = texts.get(tag) or " ".join((view.__dict__.get("__doc__") or "").split())
    in_order = sorted(texts, key=lambda tag: (_ORDER.index(tag) if tag in _ORDER else len(_ORDER), tag))
    return [{"name": tag, "description": texts[tag]} for tag in in_order]


def complete_document(result: dict[str, Any], generator: Any, **_options: Any) -> dict[str, Any]:
    """Add errors, tags, credentials, samples, and the server's URL, which drf-spectacular can't generate."""
    urlconf = generator.urlconf or settings.ROOT_URLCONF
    components = result["components"]
    schemas = components["schemas"]
    schemas |= deepcopy(_OURS["schemas"]) | {"ErrorCode": _error_codes(urlconf)}
    components["securitySchemes"] = deepcopy(_OURS["securitySchemes"][urlconf])
    result["tags"] = _tags(urlconf)
    # `description.md` and `examples.json` are in the folder of the service's URLconf.
    beside = Path(str(import_module(urlconf).__file__))
    result["info"]["description"] = beside.with_name("description.md").read_text().strip()
    for path, operations in result["paths"].items():
        for operation in operations.values():
            describe_parameters(path, operation)
    for _, declared in viewsets(urlconf):
        if declared.body is not None and declared.body.refuses_unknown:
            schemas[declared.body.__name__.removesuffix("Serializer")]["additionalProperties"] = False
    for schema in components["schemas"].values():
        describe_members(schema)
        for member in schema.get("properties", {}).values():
            member.pop("x-spec-enum-id", None)
            # Client generators treat a field with a default as always present, so move the default to the description.
            default = member.pop("default", None)
            if default is not None:
                text = f"Default: {json.dumps(default)}."
                member["description"] = f"{member['description']} {text}" if "description" in member else text
            if {} in member.get("oneOf", ()):
                del member["oneOf"]  # a value of any type already includes null
    examples: dict[str, Any] = json.loads(beside.with_name("examples.json").read_text())
    add_examples(result, examples)
    address = settings.CHAIN_URL if settings.SERVICE == "ledger" else settings.HOST_ROOT
    result["servers"] = [{"url": address}]
    add_samples(result, examples)
    return result
