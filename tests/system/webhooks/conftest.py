"""Endpoints and a receiver, as in the tests of webhooks that run in the process."""

from tests.webhooks.conftest import happen, make_endpoint, private_allowed, receiver, work  # noqa: F401  fixtures
