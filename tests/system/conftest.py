"""Fixtures for tests that start servers, browsers, clusters and other processes."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from django.db import connections

from tests.bench.faults.cluster import cluster
from tests.databases import migrate
from tests.processes import PATIENCE_SECONDS, account_with_key

CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


# Started first: a long test that starts last delays the end of the run.
_LONGEST = ("availability", "deploy", "upgrade", "release", "fuzz", "clients", "_browser", "_storm")


def pytest_xdist_auto_num_workers():
    """Use twice as many workers as there are cores: tests often wait for a server, a lease or a fault."""
    return 2 * len(os.sched_getaffinity(0))


def pytest_collection_modifyitems(items):
    """Run the longest tests first."""
    items.sort(key=lambda item: not any(word in item.nodeid.partition("::")[0] for word in _LONGEST))


@pytest.fixture(scope="module")
def launched():
    """Debian's Chromium, shared by all tests of a file, because its start takes longer than most tests.

    While it runs, this thread has an event loop, which Django would regard as its own.
    """
    if not CHROMIUM.exists():
        pytest.skip(f"needs Chromium at {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api")
    with pytest.MonkeyPatch.context() as patched, playwright.sync_playwright() as driver:
        patched.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_ARGUMENTS)
        window_of = browser.new_context

        def patient(**options):
            window = window_of(**options)
            window.set_default_timeout(1_000 * PATIENCE_SECONDS)
            return window

        browser.new_context = patient
        yield browser
        browser.close()
        # Because of that loop Django opens separate connections, which only this line closes.
        connections.close_all()


@pytest.fixture
def chromium(launched):
    """The shared browser; its windows are closed after each test."""
    yield launched
    for window in launched.contexts:
        window.close()


class Inhabited(NamedTuple):
    """A PostgreSQL cluster to copy, with the platform's tables and an account (its id and an API key)."""

    data: Path
    account: list
    secrets: Callable[[Path], Path]  # copies the folder of its secrets into another; returns the new path


@pytest.fixture(scope="session")
def inhabited(made_once):
    """A cluster to copy, whose database `platform` belongs to the role of the same name."""

    def make(place):
        place.mkdir()
        var = place / "var"
        with cluster() as server:
            migrate(server.address(), var)
            env = {"PATH": os.environ["PATH"], "VAR_DIR": str(var), "DATABASE_URL": server.address()}
            identifier, key, _secret = account_with_key(env, "ada")
            (place / "account.json").write_text(json.dumps([identifier, key]))
            server.stop("fast")
            shutil.copytree(server.folder, place / "data")

    place = made_once("cluster", make)
    account = json.loads((place / "account.json").read_text())
    return Inhabited(place / "data", account, lambda folder: shutil.copytree(place / "var", Path(folder) / "var"))
