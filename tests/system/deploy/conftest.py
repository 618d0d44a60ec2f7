"""A database cluster prepared with `deploy/roles.sql`."""

import shutil
import subprocess

import pytest

from tests.bench.faults.cluster import cluster
from tests.documents import ROOT
from tests.system.server import manage


def apply_roles(server, role="postgres"):
    """Run `deploy/roles.sql` in the database, as the header of the file describes."""
    subprocess.run(
        ["psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", "deploy/roles.sql", server.address("creditplatform", role)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip


def make(place):
    """Create a cluster with both roles and all tables in `data`, and the secrets in `var`."""
    place.mkdir()
    with cluster() as server:
        with server.connect("postgres") as session:
            session.execute("DROP DATABASE platform")
            session.execute("DROP ROLE platform")
            session.execute("CREATE DATABASE creditplatform")
        apply_roles(server)
        manage(server.address("creditplatform", "platform_owner"), place / "var", "migrate", "-v0")
        apply_roles(server)
        server.stop("fast")
        shutil.copytree(server.folder, place / "data")


@pytest.fixture(scope="module")
def prepared(made_once, tmp_path_factory):
    """A running cluster with both roles, and the folder of its secrets."""
    place = made_once("cluster-with-roles", make)
    folder = shutil.copytree(place / "var", tmp_path_factory.mktemp("prepared") / "var")
    with cluster(data=place / "data") as server:
        yield server, folder
