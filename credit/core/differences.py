"""Compute a readable list of the differences between two JSON documents."""

from collections.abc import Iterator
from typing import Any

CHANGES_MAX = 100
TEXT_MAX = 200


def differences(before: Any, after: Any) -> Any:
    """Return `{path: {"before": …, "after": …}}` for up to CHANGES_MAX changed values.

    An added value has no `before`, and a removed value has no `after`. Strings are cut to TEXT_MAX characters. Nested
    documents are compared recursively, so each entry is a single value.
    """
    changes: dict[str, Any] = {}
    for path, change in _walk("", before, after):
        if len(changes) == CHANGES_MAX:
            changes["…"] = "more members changed"
            break
        changes[path or "(all)"] = change
    return changes


def _walk(path: str, before: Any, after: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    are_lists = isinstance(before, list) and isinstance(after, list)
    if are_lists or (isinstance(before, dict) and isinstance(after, dict)):
        old, new = (dict(enumerate(before)), dict(enumerate(after))) if are_lists else (before, after)
        for name in {**old, **new}:
            where = f"{path}[{name}]" if are_lists else f"{path}.{name}" if path else name
            if name not in new:
                yield where, {"before": _display(old[name])}
            elif name not in old:
                yield where, {"after": _display(new[name])}
            else:
                yield from _walk(where, old[name], new[name])
    elif type(before) is not type(after) or before != after:
        yield path, {"before": _display(before), "after": _display(after)}


def _display(value: Any) -> Any:
    if isinstance(value, str) and len(value) > TEXT_MAX:
        return value[:TEXT_MAX] + "…"
    return value
