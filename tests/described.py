"""Find missing descriptions and examples of an OpenAPI document, and examples that do not match their schemas."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

READ_AS_OBJECTS = ("application/json", "application/x-www-form-urlencoded")


def undescribed(part: Any, place: str = "") -> list[str]:
    """Return the locations of schema properties and parameters without a description, at any depth."""
    if isinstance(part, list):
        return [match for number, item in enumerate(part) for match in undescribed(item, f"{place}/{number}")]
    if not isinstance(part, dict):
        return []
    results = []
    if part.get("type") == "object" and isinstance(part.get("properties"), dict):
        results += [f"{place}/{name}" for name, member in part["properties"].items() if not member.get("description")]
    if {"name", "in", "schema"} <= part.keys() and not part.get("description"):
        results.append(f"{place}/{part['name']}")
    parts = {name: member for name, member in part.items() if name not in {"example", "examples"}}
    return results + [item for name, member in parts.items() for item in undescribed(member, f"{place}/{name}")]


_TYPED = frozenset({"$ref", "allOf", "oneOf", "anyOf", "enum", "const", "type"})


def untyped(document: dict[str, Any]) -> list[str]:
    """Return the locations of schemas that allow any value without a type, at any depth."""
    roots = [(f"components/{name}", schema) for name, schema in document["components"]["schemas"].items()]
    for path in (*document["paths"].values(), *document.get("webhooks", {}).values()):
        for operation in path.values():
            contents = [operation.get("requestBody", {}), *operation["responses"].values()]
            holders = [*operation.get("parameters", ())]
            holders += [content for body in contents for content in body.get("content", {}).values()]
            roots += [(operation["operationId"], holder["schema"]) for holder in holders if "schema" in holder]
    return [place for name, schema in roots for place in _untyped(schema, name)]


def _untyped(schema: Any, place: str) -> list[str]:
    if isinstance(schema, bool):  # `additionalProperties`
        return []
    results = [] if _TYPED & schema.keys() else [place]
    parts = {**schema.get("properties", {})}
    parts |= {name: schema[name] for name in ("items", "additionalProperties") if name in schema}
    for name in ("allOf", "oneOf", "anyOf"):
        parts |= {f"{name}/{number}": part for number, part in enumerate(schema.get(name, ()))}
    return results + [item for name, part in parts.items() for item in _untyped(part, f"{place}/{name}")]


class Operation(NamedTuple):
    """An operation of a document, with (media type, content) of its requests and of its successful responses."""

    name: str
    parameters: list[dict[str, Any]]
    bodies: list[tuple[str, dict[str, Any]]]
    answers: list[tuple[str, dict[str, Any]]]


def operations_of(document: dict[str, Any]) -> Iterator[Operation]:
    for path in document["paths"].values():
        for operation in path.values():
            successes = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
            yield Operation(
                operation["operationId"],
                operation.get("parameters", []),
                list(operation.get("requestBody", {}).get("content", {}).items()),
                [pair for answer in successes for pair in answer.get("content", {}).items()],
            )


def without_examples(document: dict[str, Any]) -> set[str]:
    """Return what lacks a required example: JSON, forms, CSV with a schema, and path parameters."""
    missing = set()
    for operation in operations_of(document):
        missing |= {
            f"{operation.name} {parameter['name']}"
            for parameter in operation.parameters
            if _lacks(parameter, parameter["in"] == "path")
        }
        for kind, contents in (("request", operation.bodies), ("answer", operation.answers)):
            missing |= {
                f"{operation.name} {kind}"
                for media_type, content in contents
                if _lacks(content, media_type in (*READ_AS_OBJECTS, "text/csv") and content.get("schema"))
            }
    return missing


def _lacks(part: dict[str, Any], is_wanted: Any) -> bool:
    return bool(is_wanted) and "example" not in part


def examples_that_do_not_fit(document: dict[str, Any]) -> list[str]:
    """Return the examples that their own schemas reject, with the reason."""
    checked: list[tuple[str, dict[str, Any]]] = []
    for operation in operations_of(document):
        checked += [(f"{operation.name} {parameter['name']}", parameter) for parameter in operation.parameters]
        checked += [(f"{operation.name} {kind}", content) for kind, content in operation.bodies + operation.answers]
    error = document["components"]["schemas"]["Error"]
    checked.append(("Error", {"schema": error, "example": error["examples"][0]}))
    results = []
    for place, part in checked:
        if "example" in part:
            schema = {**part["schema"], "components": document["components"]}
            results += [
                f"{place}: {item.message}" for item in Draft202012Validator(schema).iter_errors(part["example"])
            ]
    return results
