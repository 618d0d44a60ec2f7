"""Fixtures for tests that start servers, browsers, clusters, and other processes."""

import json
import os
import shutil
import tempfile
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


# Tests whose ID contains such a word run first, because a long test that starts last delays the end of the run.
_LONGEST = ("availability", "deploy", "upgrade", "release", "fuzz", "clients", "_browser", "_storm")


def pytest_xdist_auto_num_workers():
    """Use two workers per core, because tests often wait for a server, a lease, or a fault."""
    return 2 * len(os.sched_getaffinity(0))


def pytest_collection_modifyitems(items):
    """Run the longest tests first."""
    items.sort(key=lambda item: not any(word in item.nodeid.partition("::")[0] for word in _LONGEST))


@pytest.fixture(scope="session")
def launched():
    """Debian's Chromium. All tests of a process share it, because its start takes longer than most tests.

    While it runs, this thread has an event loop, with which Django would reject synchronous queries.
    """
    if not CHROMIUM.exists():
        pytest.skip(f"needs Chromium at {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api")
    with pytest.MonkeyPatch.context() as patched, playwright.sync_playwright() as driver:
        patched.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_ARGUMENTS)
        window_of = browser.new_context

        def new_patient_context(**options):
            window = window_of(**options)
            window.set_default_timeout(1_000 * PATIENCE_SECONDS)
            return window

        browser.new_context = new_patient_context
        yield browser
        browser.close()
        # With the event loop, Django opened separate connections, which no other code closes.
        connections.close_all()


@pytest.fixture
def chromium(launched):
    """The shared browser, whose windows are closed after each test."""
    yield launched
    for window in launched.contexts:
        window.close()


class ClusterWithAccount(NamedTuple):
    """A PostgreSQL cluster to copy, with the platform's tables and an account. `account` is its ID and an API key."""

    data: Path
    account: list
    secrets: Callable[[Path], Path]  # copies the secrets into a folder; returns the new path


@pytest.fixture(scope="session")
def migrated_cluster(made_once):
    """A PostgreSQL cluster to copy, whose database `platform` has all tables, and belongs to the role `platform`."""

    def make(place):
        with cluster() as server, tempfile.TemporaryDirectory() as folder:
            migrate(server.address(), folder)
            server.stop("fast")
            shutil.copytree(server.folder, place)

    return made_once("migrated-cluster", make)


@pytest.fixture(scope="session")
def cluster_with_account(made_once, migrated_cluster):
    """A copy of the migrated cluster with an account."""

    def make(place):
        place.mkdir()
        var = place / "var"
        with cluster(data=migrated_cluster) as server:
            env = {"PATH": os.environ["PATH"], "VAR_DIR": str(var), "DATABASE_URL": server.address()}
            identifier, key, _secret = account_with_key(env, "ada")
            (place / "account.json").write_text(json.dumps([identifier, key]))
            server.stop("fast")
            shutil.copytree(server.folder, place / "data")

    place = made_once("cluster", make)
    account = json.loads((place / "account.json").read_text())
    return ClusterWithAccount(
        place / "data", account, lambda folder: shutil.copytree(place / "var", Path(folder) / "var")
    )
