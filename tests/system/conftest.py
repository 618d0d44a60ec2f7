"""What tests stand on that start servers, browsers, clusters and other processes."""

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


# At the end nobody waits for one of these that was begun last.
_LONGEST = ("availability", "deploy", "upgrade", "release", "fuzz", "clients", "_browser", "_storm")


def pytest_xdist_auto_num_workers():
    """One worker more than there are cores: much of the time a test waits for a server, a lease or a fault."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_modifyitems(items):
    """Begin with the longest."""
    items.sort(key=lambda item: not any(word in item.nodeid.partition("::")[0] for word in _LONGEST))


@pytest.fixture(scope="module")
def launched():
    """A browser of Debian's, for all tests of a file: to start one takes longer than most of them.

    While it runs, this thread has an event loop, which Django would take for its own.
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
        # Beside that loop Django keeps connections of its own, which nobody else would close.
        connections.close_all()


@pytest.fixture
def chromium(launched):
    """That browser, none of whose windows outlives the test."""
    yield launched
    for window in launched.contexts:
        window.close()


class Inhabited(NamedTuple):
    """A PostgreSQL cluster with the platform's tables and an account (its id and an API key), to copy."""

    data: Path
    account: list
    secrets: Callable[[Path], Path]  # copies the folder of its secrets into another; says where it is then


@pytest.fixture(scope="session")
def inhabited(made_once):
    """A cluster to copy, whose database `platform` belongs to the role of that name."""

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
