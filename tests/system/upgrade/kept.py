"""The stored data of released versions, and their restoration: databases, secrets, programs."""

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
# The database of each kind; `KIND-var.tar.xz` has its secrets, the evidence, and its verifiers.
DUMPS = {"postgresql": "postgresql.sql.xz", "sqlite": "sqlite3.xz"}


@dataclass(frozen=True)
class Version:
    """A released version, by its number."""

    number: str
    folder: Path

    @property
    def commit(self) -> str:
        """Return the commit of its program."""
        return (self.folder / "COMMIT").read_text().strip()

    def unpack(self, kind: str, into: Path) -> None:
        """Unpack the files next to its database: secrets, a decision, a report and its proof."""
        with tarfile.open(self.folder / f"{kind}-var.tar.xz") as archive:
            archive.extractall(into, filter="data")

    def restore(self, address: str) -> None:
        """Restore into an empty PostgreSQL database."""
        dump = lzma.decompress((self.folder / DUMPS["postgresql"]).read_bytes())
        program = f"{folder_of('psql')}/psql"
        command = [program, "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", address]
        done = subprocess.run(command, input=dump, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"psql: {done.stderr.decode(errors='replace')}")

    def write_sqlite(self, file: Path) -> None:
        """Write its SQLite file."""
        file.write_bytes(lzma.decompress((self.folder / DUMPS["sqlite"]).read_bytes()))

    def program(self, into: Path) -> Path:
        """Check out its program; raises RuntimeError if the history lacks its commit."""
        command = ["git", "archive", "--format=tar", self.commit]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.commit} is not in this clone: {done.stderr.decode()}")
        with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
            archive.extractall(into, filter="data")
        return into


@functools.cache
def versions() -> list[Version]:
    """Return the stored versions, the oldest first."""
    result = [Version(file.parent.name, file.parent) for file in HERE.glob("*/COMMIT")]
    return sorted(result, key=lambda version: [int(part) for part in version.number.split(".")])
