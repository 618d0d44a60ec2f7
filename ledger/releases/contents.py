"""The contents of a release. Every build of a commit produces the same bytes.

A release consists of an archive, an SBOM, a statement with the hashes of the archive and the SBOM, the ledger's proof
of the statement, and SHA256SUMS. SHA256SUMS has the hashes of the other four files. A comment in SHA256SUMS opens the
commitment of the ledger's entry. The comment proves which client anchored the statement.
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
_PINNED = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", re.MULTILINE)


class CannotRelease(Exception):
    """No release was created. The message contains the reason."""


@dataclass(frozen=True)
class Names:
    """The file names of a version's release."""

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
        return self.archive, self.sbom, self.statement, self.proof


@dataclass(frozen=True)
class Source:
    """The commit of a clean working tree. `epoch` is the commit's time, for SOURCE_DATE_EPOCH."""

    root: Path
    commit: str
    epoch: int

    @classmethod
    def of(cls, root: Path) -> "Source":
        """Read the commit. Raises CannotRelease if no commit exists, or if changes are uncommitted."""
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
        """Return the archive of all committed files.

        git sorts the files, sets the owner to root and the time to the commit's time, and writes the commit into the
        header. Fixed settings, a fixed gzip header, and a fixed gzip level make the bytes reproducible.
        """
        fixed = ("-c", "tar.umask=0022", "-c", "core.autocrlf=false")
        tar = _git(self.root, *fixed, "archive", "--format=tar", f"--prefix={names.stem}/", self.commit)
        packed = BytesIO()
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=self.epoch) as file:
            file.write(tar)
        return packed.getvalue()

    def sbom(self) -> bytes:
        """Return a CycloneDX SBOM of the lock file, with hashes. Raises CannotRelease without `cyclonedx-bom`."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("pyproject.toml", LOCK):
                Path(folder, name).write_bytes(_git(self.root, "show", f"{self.commit}:{name}"))
            command = [
                sys.executable, "-m", "cyclonedx_py", "requirements", LOCK, "--pyproject", "pyproject.toml",
                "--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON",
            ]  # fmt: skip
            # An empty environment excludes this machine's package sources.
            done = subprocess.run(command, cwd=folder, env={}, capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise CannotRelease(f"cyclonedx-bom, of requirements-dev.txt, made no SBOM: {reason}")
        return canonical_json(json.loads(done.stdout)) + b"\n"

    def statement(self, names: Names, digests: Mapping[str, str]) -> bytes:
        """Return the in-toto statement, which states that the version's files were built from this commit."""
        return canonical_json(
            {
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [
                    {"name": name, "digest": {"sha256": digests[name]}} for name in (names.archive, names.sbom)
                ],
                "predicateType": "https://in-toto.io/attestation/release/v0.1",
                "predicate": {
                    "purl": f"pkg:generic/{NAME}@{names.version}",
                    "version": names.version,
                    "commit": self.commit,
                    "source_date_epoch": self.epoch,
                },
            }
        )


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file in hex, for the statement and SHA256SUMS."""
    return {name: sha256(content).hexdigest() for name, content in files.items()}


def sums(names: Names, digests: Mapping[str, str], opening: Mapping[str, str]) -> bytes:
    """Return SHA256SUMS, with the values that open the commitment of the ledger's entry."""
    lines = [f"{digests[name]}  {name}" for name in names.summed]
    return "\n".join([*lines, OPENING + canonical_json(dict(opening)).decode(), ""]).encode()


def locked(requirements: str) -> set[tuple[str, str]]:
    return {(name.lower(), version) for name, version in _PINNED.findall(requirements)}


def listed(sbom: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(component["name"].lower(), component["version"]) for component in sbom["components"]}


def _git(root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise CannotRelease("git is needed, and is not installed.") from None
    if done.returncode:
        raise CannotRelease(f"git: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
