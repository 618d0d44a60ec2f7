"""A separate PostgreSQL cluster, which a benchmark can stop, overload, and fill."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from tests import clusters

ROLE = "platform"  # not a superuser: PostgreSQL reserves connections for superusers


class Cluster(clusters.Postgres):
    """A cluster whose only database is the platform's."""

    def address(self, database: str = ROLE, role: str = ROLE) -> str:
        """Return the URL of a database."""
        return str(super().address(database, role))

    def connect(self, database: str = ROLE) -> psycopg.Connection:
        """Open a session as the superuser."""
        return psycopg.connect(self.address(database, "postgres"), autocommit=True)


@contextlib.contextmanager
def cluster(*, max_connections: int = 100, data: Path | None = None, fsync: str = "on") -> Iterator[Cluster]:
    """Run a cluster with an empty database, or a copy of one, until the block ends.

    A test that crashes no server can turn `fsync` off.
    """
    with tempfile.TemporaryDirectory(prefix="faults-") as temporary:
        place = Path(temporary)
        place.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(place, "postgres", "postgres")
        created = Cluster(place / "data")
        if data:
            created.copy(data)
        else:
            created.make(
                f"max_connections = {max_connections}\nfsync = {fsync}\n"
                "synchronous_commit = on\nshared_buffers = 64MB\nmax_wal_size = 64MB\nmin_wal_size = 32MB\n"
            )
        created.start()
        try:
            if not data:
                with created.connect("postgres") as session:
                    session.execute(f"CREATE ROLE {ROLE} LOGIN")
                    session.execute(f"CREATE DATABASE {ROLE} OWNER {ROLE}")
            yield created
        finally:
            with contextlib.suppress(RuntimeError):
                created.stop()
