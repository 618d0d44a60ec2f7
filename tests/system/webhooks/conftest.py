"""Reuses the endpoint and receiver fixtures of the in-process webhook tests."""

from tests.webhooks.conftest import emit, make_endpoint, private_allowed, receiver, work  # noqa: F401  fixtures
