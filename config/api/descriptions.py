"""Default descriptions of fields and parameters by name, for fields without a `help_text`.

A field with another meaning has its own description. The texts are in `openapi.json`. If a parameter's name alone is
ambiguous, its key begins with the preceding part of the path.
"""

import json
from pathlib import Path
from typing import Any

PARTS = Path(__file__).with_name("openapi.json")
_TEXTS = json.loads(PARTS.read_text())
MEMBERS: dict[str, str] = _TEXTS["members"]
PARAMETERS: dict[str, str] = _TEXTS["parameters"]


def describe_members(schema: dict[str, Any]) -> None:
    for name, member in schema.get("properties", {}).items():
        text = MEMBERS.get(name)
        if text is None or "description" in member:
            continue
        if "$ref" in member:  # as drf-spectacular writes a reference with a description
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
