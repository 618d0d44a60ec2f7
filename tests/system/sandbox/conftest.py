"""Reuses fixtures of the in-process sandbox tests."""

from tests.sandbox.conftest import api, stranger_api, wait  # noqa: F401  fixtures
