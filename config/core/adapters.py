"""Load and check the vendor adapter that a setting such as `package.module:Class` selects."""

from typing import Any, TypeGuard

from django.utils.module_loading import import_string

from config.env import ADAPTER


def load_adapter(place: str) -> Any:
    """Create an instance of the class at `package.module:Class`. Raises ImportError or ValueError."""
    if not ADAPTER.fullmatch(place):
        raise ValueError(f"{place!r} must be `package.module:Class`.")
    return import_string(place.replace(":", "."))()


def is_text(value: Any, longest: int) -> TypeGuard[str]:
    """Return whether a vendor's value is a non-empty string that every database can store."""
    if not isinstance(value, str) or not 0 < len(value) <= longest or "\0" in value:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)


def attempt(method: Any, *arguments: Any, **options: Any) -> tuple[Any, str]:
    """Call a method of an adapter for a check. Returns `(result, "")` or `(None, error message)`."""
    try:
        return method(*arguments, **options), ""
    except Exception as error:  # noqa: BLE001  the check reports any error of the adapter
        return None, f"raised {type(error).__name__}: {error}"
