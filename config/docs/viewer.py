"""The OpenAPI document for the page from which users can call operations.

The page's viewer is Swagger UI, which needs several seconds for an OpenAPI 3.1 document, because it processes all parts
repeatedly. In an OpenAPI 3.0 document, it processes only the displayed parts. So the viewer gets an OpenAPI 3.0
document, without the parts that the reference contains.
"""

import json
from functools import cache
from typing import Any

from config.api.docs import document_bytes
from config.api.reference import title_of
from config.core.json_text import render_json

_LISTS = frozenset({"allOf", "oneOf", "anyOf"})
_NULL = {"type": "null"}


@cache
def viewer_bytes(urlconf: str) -> bytes:
    """Return the viewer's document of the service with this `urlconf`. The result is cached."""
    return render_json(viewer_document(json.loads(document_bytes(urlconf))))


def viewer_document(document: dict[str, Any]) -> dict[str, Any]:
    """Convert an OpenAPI 3.1 document to 3.0. Remove events, samples, and the bodies of errors. Add titles to tags."""
    paths = {
        path: {method: _operation(operation) for method, operation in methods.items()}
        for path, methods in document["paths"].items()
    }
    components = document["components"]
    schemas = {name: _schema(schema) for name, schema in components["schemas"].items()}
    others = {name: value for name, value in document.items() if name != "webhooks"}
    # OpenAPI 3.0 has no license IDs.
    info = {**document["info"], "license": {"name": document["info"]["license"]["name"]}}
    tags = [{**tag, "x-displayName": title_of(tag["name"])} for tag in document["tags"]]
    converted = {"info": info, "tags": tags, "paths": paths, "components": {**components, "schemas": schemas}}
    return {**others, **converted, "openapi": "3.0.3"}


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    result = {name: value for name, value in operation.items() if name != "x-codeSamples"}
    if "parameters" in result:
        result["parameters"] = [{**item, "schema": _schema(item["schema"])} for item in result["parameters"]]
    if "requestBody" in result:
        result["requestBody"] = _with_content(result["requestBody"])
    result["responses"] = {
        status: _without_content(response) if status[0] in "45" else _with_content(response)
        for status, response in result["responses"].items()
    }
    return result


def _without_content(response: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in response.items() if name != "content"}


def _with_content(body: dict[str, Any]) -> dict[str, Any]:
    if "content" not in body:
        return body
    content = {
        media_type: {**item, "schema": _schema(item["schema"])} if "schema" in item else item
        for media_type, item in body["content"].items()
    }
    return {**body, "content": content}


def _schema(schema: Any) -> Any:
    """Convert a JSON Schema to the dialect of OpenAPI 3.0."""
    if not isinstance(schema, dict):  # `true` and `false` are also schemas
        return {} if schema is True else {"not": {}}
    result = dict(schema)
    if "$ref" in result and len(result) > 1:  # OpenAPI 3.0 ignores fields next to a reference
        result = {"allOf": [{"$ref": result.pop("$ref")}], **result}
    if "const" in result:
        result["enum"] = [result.pop("const")]
    if "examples" in result:
        result["example"] = result.pop("examples")[0]
    return _with_parts(_with_one_type(result))


def _with_one_type(schema: dict[str, Any]) -> dict[str, Any]:
    """Replace the type `null` by `nullable`. A list of several other types becomes a schema of any type."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        schema = {name: value for name, value in schema.items() if name != "type"}
        if len(others) == 1:
            schema["type"] = others[0]
        if "null" in kinds:
            schema["nullable"] = True
    return {"items": {}, **schema} if schema.get("type") == "array" else schema


def _with_parts(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert the schemas that a schema contains."""
    result = dict(schema)
    for name in _LISTS & result.keys():
        result[name] = [_schema(part) for part in schema[name] if part != _NULL]
        if _NULL in schema[name]:
            result["nullable"] = True
    if "properties" in result:
        result["properties"] = {name: _schema(member) for name, member in schema["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(result.get(name), dict):
            result[name] = _schema(schema[name])
    return result
