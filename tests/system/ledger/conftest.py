"""A separate log for each test, as in the in-process tests of the ledger."""

from tests.ledger.conftest import client, committed_log, own_log  # noqa: F401  fixtures
