"""Clients whose keys outlive every test, as in the in-process tests of the sandbox."""

from tests.sandbox.conftest import api, stranger_api, wait  # noqa: F401  fixtures
