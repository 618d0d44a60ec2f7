"""Reuses fixtures of the in-process ledger tests."""

from tests.ledger.conftest import client, committed_log, own_log  # noqa: F401  fixtures
