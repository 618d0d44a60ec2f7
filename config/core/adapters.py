"""Adapters of vendors that an installation adds, selected by a setting such as `package.module:Class`."""

from typing import Any

from django.utils.module_loading import import_string

from config.env import ADAPTER


def load_adapter(place: str) -> Any:
    """Return a new object of the class at `package.module:Class`; raises ImportError or ValueError."""
    if not ADAPTER.fullmatch(place):
        raise ValueError(f"{place!r} must be `package.module:Class`.")
    return import_string(place.replace(":", "."))()
