"""The definition of a scorecard in the OpenAPI document: its JSON Schema, a component for each of its parts."""

from typing import Any

from credit.scoring.definition import SCHEMA

SCORECARD = "#/components/schemas/Scorecard"
# The forbidden characters are only in the schema itself, because generators can't read negative patterns.
_FORBIDDING = "writable"


def add_scorecard(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add what requests and answers with a definition refer to; the ledger has none."""
    schemas = result["components"]["schemas"]
    if "VersionRequest" in schemas:
        parts = {f"Scorecard{name.title()}": part for name, part in SCHEMA["$defs"].items() if name != _FORBIDDING}
        whole = {name: part for name, part in SCHEMA.items() if name not in {"$schema", "$defs"}}
        schemas |= {name: _placed(part) for name, part in {**parts, "Scorecard": whole}.items()}
    return result


def _placed(schema: Any) -> Any:
    """Return a part of the JSON Schema whose references are those of components."""
    if isinstance(schema, dict):
        return {
            name: f"{SCORECARD}{value.rpartition('/')[2].title()}" if name == "$ref" else _placed(value)
            for name, value in schema.items()
            if (name, value) != ("$ref", f"#/$defs/{_FORBIDDING}")
        }
    return [_placed(part) for part in schema] if isinstance(schema, list) else schema
