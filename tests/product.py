"""Read the product's source files for tests."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("config", "identity", "credit", "claims", "payments", "staging", "ledger")


@cache
def sources() -> dict[str, tuple[str, ast.Module]]:
    """Return every module of the product by its dotted name: its path from the root, and its syntax tree."""
    result = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            relative = path.relative_to(ROOT)
            parts = relative.with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            result[name] = (str(relative), ast.parse(path.read_text()))
    return result
