"""Offline verification that the files of a release are consistent, and that a ledger anchored the release's statement.

The archive is not unpacked before the proof is verified, because an untrusted archive could exhaust the memory.

Any account with write access to the ledger can anchor any text. Only the platform's key can anchor the report type
`release`. So the check opens the entry's commitment to verify this type.
"""

import json
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ledger.checkpoint import Verifier
from ledger.entries import commitment_of
from ledger.policy import Policy
from ledger.proof_file import ProofFile, Step, check_with_any
from ledger.releases import contents

SUFFIX = ".tar.gz"
# These limits bound the memory for untrusted files. The archive is only hashed, so its limit can be larger.
MAX_BYTES = 16 * 1024 * 1024
ARCHIVE_MAX_BYTES = 512 * 1024 * 1024
LOCK_MAX_BYTES = 4 * 1024 * 1024
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, OSError, EOFError, tarfile.TarError)


class Fault(Exception):
    """A file differs from a valid release. The message contains the name of the file."""


@dataclass
class Release:
    """The archive of a release, and the release's other files in the same directory.

    Each verification step returns a detail, or raises Fault.
    """

    archive: Path
    verifiers: Sequence[Verifier]
    policy: Policy | None
    files: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    verifier: Verifier | None = None  # the key that verified the proof

    def check(self) -> Iterator[Step]:
        """Yield the steps up to the first failure. If the last step is ok, the release is verified."""
        steps: tuple[Callable[[], str], ...] = (
            self._found, self._summed, self._stated, self._proven, self._opened, self._committed, self._listed,
        )  # fmt: skip
        for step in steps:
            name = step.__name__.removeprefix("_")
            try:
                yield Step(name, ok=True, detail=step())
            except Fault as fault:
                yield Step(name, ok=False, detail=str(fault))
                return
            except _UNREADABLE as error:
                yield Step(name, ok=False, detail=f"Its format is invalid ({type(error).__name__}).")
                return

    @cached_property
    def names(self) -> contents.Names:
        name = self.archive.name
        if not name.startswith(f"{contents.NAME}-") or not name.endswith(SUFFIX):
            raise Fault(f"An archive is named {contents.NAME}-VERSION{SUFFIX}, and this one {name}.")
        return contents.Names(name.removeprefix(f"{contents.NAME}-").removesuffix(SUFFIX))

    @cached_property
    def stated(self) -> dict[str, Any]:
        statement: dict[str, Any] = json.loads(self.files[self.names.statement])
        return statement

    @cached_property
    def opening(self) -> dict[str, str]:
        last = self.files[contents.SUMS].decode().splitlines()[-1]
        if not last.startswith(contents.OPENING):
            raise Fault(f"{contents.SUMS} does not open the ledger's entry.")
        opening: dict[str, str] = json.loads(last.removeprefix(contents.OPENING))
        if opening.keys() != {"nonce", "report_type", "timestamp", "user_id"}:
            raise Fault(f"{contents.SUMS} does not open the ledger's entry.")
        return opening

    def _found(self) -> str:
        for name in (*self.names.summed, contents.SUMS):
            path, is_archive = self.archive.with_name(name), name == self.names.archive
            if not path.is_file():
                raise Fault(f"{name} is not there.")
            if path.stat().st_size > (ARCHIVE_MAX_BYTES if is_archive else MAX_BYTES):
                raise Fault(f"{name} is larger than any release.")
            with path.open("rb") as file:
                if not is_archive:
                    self.files[name] = file.read()
                    file.seek(0)
                self.digests[name] = file_digest(file, "sha256").hexdigest()
        return f"{len(self.digests)} files of version {self.names.version}"

    def _summed(self) -> str:
        if self.files[contents.SUMS] != contents.sums(self.names, self.digests, self.opening):
            for name in self.names.summed:
                if f"{self.digests[name]}  {name}\n".encode() not in self.files[contents.SUMS]:
                    raise Fault(f"{name} is not what {contents.SUMS} says.")
            raise Fault(f"{contents.SUMS} contains more than the sums of four files.")
        return f"{contents.SUMS} has the hash of each"

    def _stated(self) -> str:
        predicate = self.stated["predicate"]
        source = contents.Source(Path(), predicate["commit"], predicate["source_date_epoch"])
        if self.stated["predicate"]["version"] != self.names.version:
            raise Fault(f"The statement is about version {self.stated['predicate']['version']}.")
        expected = source.statement(self.names, self.digests)
        for stated, computed in zip(self.stated["subject"], json.loads(expected)["subject"], strict=True):
            if stated != computed:
                raise Fault(f"The statement has another hash of {computed['name']}.")
        if self.files[self.names.statement] != expected:
            raise Fault("The statement does not have the canonical form of a release.")
        return f"version {self.names.version} is commit {predicate['commit']}"

    def _committed(self) -> str:
        with tarfile.open(self.archive) as archive:
            commit, first = archive.pax_headers.get("comment"), archive.next()  # git writes the commit into the comment
            if commit != self.stated["predicate"]["commit"]:
                raise Fault(f"The archive is of commit {commit}.")
            if first is None or first.name != self.names.stem:
                raise Fault(f"The archive does not unpack into {self.names.stem}.")
            lock = archive.extractfile(f"{self.names.stem}/{contents.LOCK}")
            content = lock.read(LOCK_MAX_BYTES + 1) if lock else b""
            if len(content) > LOCK_MAX_BYTES:
                raise Fault(f"{contents.LOCK} is larger than {LOCK_MAX_BYTES} bytes.")
            self._lock = content.decode()
        return f"the archive is of it, and unpacks into {self.names.stem}"

    def _listed(self) -> str:
        sbom = json.loads(self.files[self.names.sbom])
        if sbom["bomFormat"] != "CycloneDX":
            raise Fault("The SBOM is not in the CycloneDX format.")
        locked, listed = contents.locked(self._lock), contents.listed(sbom)
        if locked != listed or not locked:
            name, version = min(locked ^ listed, default=("nothing", "0"))
            raise Fault(f"Lock and SBOM do not agree about {name} {version}.")
        return f"the SBOM lists the {len(locked)} packages of its lock"

    def _proven(self) -> str:
        proof, digest = self.files[self.names.proof].decode(), sha256(self.files[self.names.statement]).digest()
        steps, self.verifier = check_with_any(proof, digest, self.verifiers, self.policy)
        if not steps[-1].ok:
            raise Fault(f"{steps[-1].name}: {steps[-1].detail}")
        return steps[-1].detail

    def _opened(self) -> str:
        opening, extra = self.opening, ProofFile.from_text(self.files[self.names.proof].decode()).extra
        metadata = {name: opening[name] for name in ("report_type", "timestamp", "user_id")}
        digest = sha256(self.files[self.names.statement]).digest()
        if commitment_of(bytes.fromhex(opening["nonce"]), report_hash=digest, **metadata) != extra:
            raise Fault("The file differs from the commitment in the ledger's entry.")
        if opening["report_type"] != contents.REPORT_TYPE:
            raise Fault(f"It was anchored as {opening['report_type']!r}, which is open to all, and not as a release.")
        return f"anchored as a release by {opening['user_id']} at {opening['timestamp']}"
