"""Callers whose keys outlive every test, as in the tests of the sandbox that run in the process."""

from tests.sandbox.conftest import api, stranger_api, wait  # noqa: F401  fixtures
