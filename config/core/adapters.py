"""Vendor adapters that an installation adds, selected by a setting such as `package.module:Class`."""

from typing import Any

from django.utils.module_loading import import_string

from config.env import ADAPTER


def load_adapter(place: str) -> Any:
    """Return a new object of the class at `package.module:Class`; raises ImportError or ValueError."""
    if not ADAPTER.fullmatch(place):
        raise ValueError(f"{place!r} must be `package.module:Class`.")
    return import_string(place.replace(":", "."))()


def attempt(method: Any, *arguments: Any, **options: Any) -> tuple[Any, str]:
    """Call a method of an adapter during its check; return its result and "", or None and the error message."""
    try:
        return method(*arguments, **options), ""
    except Exception as error:  # noqa: BLE001  the adapter's fault is the finding
        return None, f"raised {type(error).__name__}: {error}"
