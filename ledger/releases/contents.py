"""The content of a release, made from a commit alone: every build of it has the same bytes.

An archive, an SBOM of what its lock names, a statement with the hashes of both, the proof that a ledger has the
statement, and SHA256SUMS of these four. SHA256SUMS also opens the commitment of the ledger's entry, in a line that
`sha256sum --check` treats as a comment. Without it a proof would show that the statement was anchored, not by which
client.
"""

import gzip
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from config.core.json_text import canonical_json

NAME = "credit-platform"
REPORT_TYPE = "release"
SUMS = "SHA256SUMS"
LOCK = "requirements.txt"
OPENING = "# the ledger's entry: "
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/release/v0.1"
_PINNED = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", re.MULTILINE)


class CannotRelease(Exception):
    """Nothing is made; the message has the reason."""


@dataclass(frozen=True)
class Names:
    """The names of a version's files."""

    version: str

    @property
    def stem(self) -> str:
        return f"{NAME}-{self.version}"

    @property
    def archive(self) -> str:
        return f"{self.stem}.tar.gz"

    @property
    def sbom(self) -> str:
        return f"{self.stem}.sbom.cdx.json"

    @property
    def statement(self) -> str:
        return f"{self.stem}.statement.json"

    @property
    def proof(self) -> str:
        return f"{self.stem}.tlog-proof"

    @property
    def summed(self) -> tuple[str, ...]:
        """The files in SHA256SUMS, in order."""
        return self.archive, self.sbom, self.statement, self.proof


@dataclass(frozen=True)
class Source:
    """The commit that a clean working tree is of; `epoch` is its time, SOURCE_DATE_EPOCH."""

    root: Path
    commit: str
    epoch: int

    @classmethod
    def of(cls, root: Path) -> "Source":
        """Raises CannotRelease without a commit, or with uncommitted changes."""
        if changed := _git(root, "status", "--porcelain").decode().splitlines():
            raise CannotRelease(
                f"The working tree differs from the commit: {changed[0][3:]} and {len(changed) - 1} more."
            )
        commit, epoch = _git(root, "log", "-1", "--format=%H %ct").decode().split()
        return cls(root, commit, int(epoch))

    def version(self) -> str:
        project = tomllib.loads(_git(self.root, "show", f"{self.commit}:pyproject.toml").decode())["project"]
        return str(project["version"])

    def archive(self, names: Names) -> bytes:
        """Everything that is committed. git sorts, gives every file to root and the commit's time, and names the commit
        at the head. The settings that could change this are fixed here, as are the header and level of gzip.
        """
        fixed = ("-c", "tar.umask=0022", "-c", "core.autocrlf=false")
        tar = _git(self.root, *fixed, "archive", "--format=tar", f"--prefix={names.stem}/", self.commit)
        packed = BytesIO()
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=self.epoch) as file:
            file.write(tar)
        return packed.getvalue()

    def sbom(self) -> bytes:
        """Every package of the lock with its hashes, in CycloneDX. Raises CannotRelease without `cyclonedx-bom`."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("pyproject.toml", LOCK):
                Path(folder, name).write_bytes(_git(self.root, "show", f"{self.commit}:{name}"))
            command = [
                sys.executable, "-m", "cyclonedx_py", "requirements", LOCK, "--pyproject", "pyproject.toml",
                "--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON",
            ]  # fmt: skip
            # Without the environment: package sources on this machine are private.
            done = subprocess.run(command, cwd=folder, env={}, capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise CannotRelease(f"cyclonedx-bom, of requirements-dev.txt, made no SBOM: {reason}")
        return canonical_json(json.loads(done.stdout)) + b"\n"

    def statement(self, names: Names, digests: Mapping[str, str]) -> bytes:
        """The statement in in-toto's form that version and commit are these two files."""
        return canonical_json(
            {
                "_type": _STATEMENT,
                "subject": [
                    {"name": name, "digest": {"sha256": digests[name]}} for name in (names.archive, names.sbom)
                ],
                "predicateType": _PREDICATE,
                "predicate": {
                    "purl": f"pkg:generic/{NAME}@{names.version}",
                    "version": names.version,
                    "commit": self.commit,
                    "source_date_epoch": self.epoch,
                },
            }
        )


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """The SHA-256 of each file in hex, as statement and sums have it."""
    return {name: sha256(content).hexdigest() for name, content in files.items()}


def sums(names: Names, digests: Mapping[str, str], opening: Mapping[str, str]) -> bytes:
    """SHA256SUMS, and in it what opens the commitment of the ledger's entry."""
    lines = [f"{digests[name]}  {name}" for name in names.summed]
    return "\n".join([*lines, OPENING + canonical_json(dict(opening)).decode(), ""]).encode()


def locked(requirements: str) -> set[tuple[str, str]]:
    """The packages of a lock, with their versions."""
    return {(name.lower(), version) for name, version in _PINNED.findall(requirements)}


def listed(sbom: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The packages of an SBOM, with their versions."""
    return {(component["name"].lower(), component["version"]) for component in sbom["components"]}


def _git(root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise CannotRelease("git is needed, and is not installed.") from None
    if done.returncode:
        raise CannotRelease(f"git: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
