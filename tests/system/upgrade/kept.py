"""Restore the stored databases, secrets, and programs of released versions."""

import functools
import lzma
import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from tests.clusters import folder_of
from tests.processes import ROOT

HERE = Path(__file__).parent
# The database file of each kind. `KIND-var.tar.xz` contains its secrets, the evidence, and the verification keys.
DUMPS = {"postgresql": "postgresql.sql.xz", "sqlite": "sqlite3.xz"}


@dataclass(frozen=True)
class Version:
    """A released version and its stored data."""

    number: str
    folder: Path

    @property
    def commit(self) -> str:
        """Return the commit of the version's program."""
        return (self.folder / "COMMIT").read_text().strip()

    def unpack(self, kind: str, into: Path) -> None:
        """Unpack the files that belong to a database: secrets, a decision, a report, and the report's proof."""
        with tarfile.open(self.folder / f"{kind}-var.tar.xz") as archive:
            archive.extractall(into, filter="data")

    def restore(self, address: str) -> None:
        """Restore the version's data into an empty PostgreSQL database."""
        dump = lzma.decompress((self.folder / DUMPS["postgresql"]).read_bytes())
        program = f"{folder_of('psql')}/psql"
        command = [program, "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", address]
        done = subprocess.run(command, input=dump, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"psql: {done.stderr.decode(errors='replace')}")

    def write_sqlite(self, file: Path) -> None:
        """Write the version's SQLite database to a file."""
        file.write_bytes(lzma.decompress((self.folder / DUMPS["sqlite"]).read_bytes()))

    def program(self, into: Path) -> Path:
        """Write the version's program into a folder. Raises RuntimeError if this clone lacks its commit."""
        command = ["git", "archive", "--format=tar", self.commit]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.commit} is not in this clone: {done.stderr.decode()}")
        with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
            archive.extractall(into, filter="data")
        return into


@functools.cache
def versions() -> list[Version]:
    """Return the stored versions, oldest first."""
    result = [Version(file.parent.name, file.parent) for file in HERE.glob("*/COMMIT")]
    return sorted(result, key=lambda version: [int(part) for part in version.number.split(".")])
