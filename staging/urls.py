"""Addresses of this room, below `/v1/`."""

from typing import Any

urlpatterns: list[Any] = []
