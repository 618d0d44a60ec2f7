"""Endpoints and a receiver, as in the in-process tests of webhooks."""

from tests.webhooks.conftest import happen, make_endpoint, private_allowed, receiver, work  # noqa: F401  fixtures
