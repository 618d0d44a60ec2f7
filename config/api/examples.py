"""Examples of the OpenAPI document: `examples.json` next to the service's URLconf.

You write the parameters and the body of a request; `make contract` records the response.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_READ_AS_OBJECTS = ("application/json", "application/x-www-form-urlencoded")


def read_examples(beside: Path) -> dict[str, Any]:
    examples: dict[str, Any] = json.loads(beside.with_name("examples.json").read_text())
    return examples


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
    """Copy the example of another operation with the same schema to each response without a recorded example."""
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
