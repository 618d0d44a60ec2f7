"""What changed between two JSON documents, for a person to read."""

from collections.abc import Iterator
from typing import Any

CHANGES_MAX = 100
TEXT_MAX = 200


def differences(before: Any, after: Any) -> Any:
    """Return `{path: {"before": …, "after": …}}` for every member that differs, at most CHANGES_MAX of them.

    A member that is only on one side lacks the other. Long texts are cut to TEXT_MAX characters, and documents within
    documents are followed, so that each entry is one value.
    """
    found: dict[str, Any] = {}
    for path, change in _walk("", before, after):
        if len(found) == CHANGES_MAX:
            found["…"] = "more members changed"
            break
        found[path or "(all)"] = change
    return found


def _walk(path: str, before: Any, after: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            yield from _member(f"{path}.{name}" if path else name, name, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        sides = dict(enumerate(before)), dict(enumerate(after))
        for place in range(max(len(before), len(after))):
            yield from _member(f"{path}[{place}]", place, *sides)
    elif type(before) is not type(after) or before != after:
        yield path, {"before": _shown(before), "after": _shown(after)}


def _member(
    path: str, name: Any, before: dict[Any, Any], after: dict[Any, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    if name not in after:
        yield path, {"before": _shown(before[name])}
    elif name not in before:
        yield path, {"after": _shown(after[name])}
    else:
        yield from _walk(path, before[name], after[name])


def _shown(value: Any) -> Any:
    if isinstance(value, str) and len(value) > TEXT_MAX:
        return value[:TEXT_MAX] + "…"
    return value
