"""Addresses of webhooks, below `/v1/`."""

from typing import Any

urlpatterns: list[Any] = []
