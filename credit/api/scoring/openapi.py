"""The definition of a scorecard in the OpenAPI document: its JSON Schema, with a component for each part."""

from typing import Any

from credit.scoring.definition import SCHEMA

SCORECARD = "#/components/schemas/Scorecard"
# The document omits this part of the JSON Schema, because generators can't read negative patterns.
_FORBIDDING = "writable"


def add_scorecard(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add the components that requests and responses with a definition refer to; the ledger's document has none."""
    schemas = result["components"]["schemas"]
    if "VersionRequest" in schemas:
        parts = {f"Scorecard{name.title()}": part for name, part in SCHEMA["$defs"].items() if name != _FORBIDDING}
        whole = {name: part for name, part in SCHEMA.items() if name not in {"$schema", "$defs"}}
        schemas |= {name: _placed(part) for name, part in {**parts, "Scorecard": whole}.items()}
    return result


def _placed(schema: Any) -> Any:
    """Return a part of the JSON Schema with references to components."""
    if isinstance(schema, dict):
        return {
            name: f"{SCORECARD}{value.rpartition('/')[2].title()}" if name == "$ref" else _placed(value)
            for name, value in schema.items()
            if (name, value) != ("$ref", f"#/$defs/{_FORBIDDING}")
        }
    return [_placed(part) for part in schema] if isinstance(schema, list) else schema
