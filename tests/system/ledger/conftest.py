"""A log of each test's own, as in the tests of the ledger that run in the process."""

from tests.ledger.conftest import client, committed_log, own_log  # noqa: F401  fixtures
