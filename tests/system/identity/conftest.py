"""Fixtures with servers in separate processes."""

from contextlib import ExitStack

import pytest

from tests.databases import own_database_url
from tests.identity.conftest import judge, judged_plaid, plaid  # noqa: F401  fixtures
from tests.system.server import gunicorn


@pytest.fixture
def two_servers(committed, settings, tmp_path):
    """The base URLs of two servers in separate processes that share the test's database."""
    shared = {
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",  # its rate limits are too high to reach
        "BASE_URL": settings.BASE_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "FIELD_ENCRYPTION_KEYS": ",".join(settings.FIELD_ENCRYPTION_KEYS),
    }
    with ExitStack() as stack:
        ports = [stack.enter_context(gunicorn(own_database_url(), tmp_path, threads=4, **shared)) for _ in range(2)]
        yield [f"http://127.0.0.1:{port}/v1" for port in ports]
