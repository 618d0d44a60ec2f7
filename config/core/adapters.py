"""Loading of the vendor adapters that a setting such as `package.module:Class` selects."""

from typing import Any

from django.utils.module_loading import import_string

from config.env import ADAPTER


def load_adapter(place: str) -> Any:
    """Create an instance of the class at `package.module:Class`. Raises ImportError or ValueError."""
    if not ADAPTER.fullmatch(place):
        raise ValueError(f"{place!r} must be `package.module:Class`.")
    return import_string(place.replace(":", "."))()


def attempt(method: Any, *arguments: Any, **options: Any) -> tuple[Any, str]:
    """Call an adapter's method during its check. Returns `(result, "")` or `(None, error message)`."""
    try:
        return method(*arguments, **options), ""
    except Exception as error:  # noqa: BLE001  the adapter's fault is the finding
        return None, f"raised {type(error).__name__}: {error}"
