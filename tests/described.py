"""What an OpenAPI document leaves unsaid."""

from typing import Any


def undescribed(part: Any, place: str = "") -> list[str]:
    """Return where members of schemas and parameters are without a description, at any depth."""
    if isinstance(part, list):
        return [found for number, one in enumerate(part) for found in undescribed(one, f"{place}/{number}")]
    if not isinstance(part, dict):
        return []
    found = []
    if part.get("type") == "object" and isinstance(part.get("properties"), dict):
        found += [f"{place}/{name}" for name, member in part["properties"].items() if not member.get("description")]
    if {"name", "in", "schema"} <= part.keys() and not part.get("description"):
        found.append(f"{place}/{part['name']}")
    return found + [one for name, member in part.items() for one in undescribed(member, f"{place}/{name}")]
