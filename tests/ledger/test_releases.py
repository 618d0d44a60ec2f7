"""Test that `verify` accepts an unchanged release, and reports the first fault of a tampered release."""

import gzip
import io
import json
import tarfile
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command

from ledger import merkle
from ledger.checkpoint import Checkpoint, Signer, WitnessVerifier
from ledger.entries import commitment_of
from ledger.management.commands.verify import Command
from ledger.proof_file import ProofFile
from ledger.releases import contents
from ledger.releases.checking import LOCK_MAX_BYTES
from ledger.releases.contents import Names, Source

COMMIT, OTHER_COMMIT = "c0ffee" * 6 + "c0de", "decade" * 6 + "dead"
LOCK = "anchor==1.0 \\\n    --hash=sha256:00\nmerkle[tree]==2.1 ; python_version > '3' \\\n    --hash=sha256:11\n"
NAMES = Names("1.2.3")
LOG, OTHER_LOG = (Signer("log.example", Ed25519PrivateKey.from_private_bytes(bytes([n] * 32))) for n in (1, 2))
WITNESS = WitnessVerifier("witness.example", LOG.verifier.public_key)


def packed(lock=LOCK, commit=COMMIT, folder=NAMES.stem):
    """Return an archive as git creates it."""
    tar = io.BytesIO()
    with tarfile.open(mode="w", fileobj=tar, format=tarfile.PAX_FORMAT, pax_headers={"comment": commit}) as archive:
        top = tarfile.TarInfo(folder)
        top.type = tarfile.DIRTYPE
        archive.addfile(top)
        file = tarfile.TarInfo(f"{folder}/requirements.txt")
        file.size = len(lock)
        archive.addfile(file, io.BytesIO(lock.encode()))
    return gzip.compress(tar.getvalue(), mtime=0)


def sbom(*packages):
    return json.dumps(
        {"bomFormat": "CycloneDX", "components": [{"name": n, "version": v} for n, v in packages]}
    ).encode()


PACKAGES = (("anchor", "1.0"), ("merkle", "2.1"))


def anchored(statement, *, report_type="release", log=LOG):
    """Return the proof of a statement in a log with one entry, and the values that open its commitment."""
    fields = {"report_type": report_type, "timestamp": "2026-01-01T00:00:00.000000Z", "user_id": "credit-platform"}
    digest, nonce = sha256(statement).digest(), bytes(16)
    commitment = commitment_of(nonce, report_hash=digest, **fields)
    root = merkle.leaf_hash(digest + commitment)
    note = log.sign(Checkpoint(log.name, 1, root).text())
    return ProofFile(0, (), note, commitment).text().encode(), {**fields, "nonce": nonce.hex()}


def files_of(*, archive=None, listed=PACKAGES, commit=COMMIT, stated=None, **entry):
    """Return the files of a release; `stated` changes the statement before it is anchored."""
    files = {NAMES.archive: archive or packed(), NAMES.sbom: sbom(*listed)}
    statement = Source(None, commit, 0).statement(NAMES, contents.digests_of(files))
    files[NAMES.statement] = stated(statement) if stated else statement
    files[NAMES.proof], opening = anchored(files[NAMES.statement], **entry)
    return files | {contents.SUMS: contents.sums(NAMES, contents.digests_of(files), opening)}


def with_new_sums(files):
    """Recompute SHA256SUMS, as an attacker who changed a file would."""
    opening = json.loads(files[contents.SUMS].decode().splitlines()[-1].removeprefix(contents.OPENING))
    return files | {contents.SUMS: contents.sums(NAMES, contents.digests_of(files), opening)}


def changed(name, change, *, sums=True):
    """Return a release in which one file was changed."""
    files = files_of()
    files[name] = change(files[name])
    return with_new_sums(files) if sums else files


def without(name):
    return {item: content for item, content in files_of().items() if item != name}


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def replaced(old, new):
    """Return a function that replaces a text that must occur."""

    def replace(content):
        assert old.encode() in content
        return content.replace(old.encode(), new.encode())

    return replace


def verify(folder, files, *more, key=LOG.verifier.vkey, archive=NAMES.archive):
    """Run `verify` with the files of a release; return its output and its error."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    output = io.StringIO()
    key_options = ["--ledger-key", key] if key else []
    try:
        call_command("verify", folder / archive, "--json", *key_options, *more, stdout=output, stderr=io.StringIO())
    except CommandError as error:
        output.write(str(error))
    return output.getvalue()


def test_unchanged_release_archive_passes_verification(tmp_path):
    assert json.loads(verify(tmp_path, files_of())) == {
        "kind": "release", "verified": True, "outcome": "verified", "failed": None, "not_checked": [],
        "ledger_key": LOG.verifier.vkey,
    }  # fmt: skip


def test_release_verification_prints_only_the_failed_step_in_red(tmp_path, monkeypatch):
    for name, content in changed(NAMES.archive, flipped).items():
        (tmp_path / name).write_bytes(content)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    command = Command(stderr=terminal, force_color=True)
    with pytest.raises(CommandError):
        call_command(command, tmp_path / NAMES.archive, "--ledger-key", LOG.verifier.vkey, stdout=io.StringIO())
    red, plain = "\033[31;1mFAIL stated", ("ok   found", "ok   summed")
    assert [line.partition(":")[0] for line in terminal.getvalue().split("\n")][:3] == [*plain, red]


STATEMENT, SBOM, ARCHIVE, PROOF, SUMS = NAMES.statement, NAMES.sbom, NAMES.archive, NAMES.proof, contents.SUMS
TAMPERINGS = {
    "a changed bit of the archive": (lambda: changed(ARCHIVE, flipped, sums=False), "summed"),
    "a changed bit of the archive with its sum": (lambda: changed(ARCHIVE, flipped), "stated"),
    "a byte after the archive": (lambda: changed(ARCHIVE, lambda old: old + b"\0"), "stated"),
    "an archive of another commit": (lambda: files_of(archive=packed(commit=OTHER_COMMIT)), "committed"),
    "an archive with another folder": (lambda: files_of(archive=packed(folder="etc")), "committed"),
    "an invalid archive": (lambda: files_of(archive=b"\x1f\x8bPK\3\4"), "committed"),
    "an invalid archive in a foreign log": (lambda: files_of(archive=b"\x1f\x8bPK", log=OTHER_LOG), "proven"),
    "a lock of more than 4 MiB": (lambda: files_of(archive=packed("#" * (LOCK_MAX_BYTES + 1))), "committed"),
    "another package in the archive's lock": (lambda: files_of(archive=packed(f"{LOCK}evil==6.6.6 \\\n")), "listed"),
    "another version in the archive's lock": (lambda: files_of(archive=packed(LOCK.replace("2.1", "2.0"))), "listed"),
    "an SBOM without a package": (lambda: files_of(listed=PACKAGES[:1]), "listed"),
    "a changed SBOM": (lambda: changed(SBOM, replaced("2.1", "2.2")), "stated"),
    "no SBOM": (lambda: without(SBOM), "found"),
    "no sums": (lambda: without(SUMS), "found"),
    "no proof": (lambda: without(PROOF), "found"),
    "a changed sum": (lambda: changed(SUMS, lambda old: flipped(old[:64]) + old[64:], sums=False), "summed"),
    "a fifth sum": (lambda: changed(SUMS, lambda old: b"0" * 64 + b"  evil\n" + old, sums=False), "summed"),
    "a statement about another commit": (lambda: changed(STATEMENT, replaced(COMMIT, OTHER_COMMIT)), "proven"),
    "a statement about another version": (
        lambda: changed(STATEMENT, replaced('"version":"1.2.3"', '"version":"1.2.4"')), "stated",
    ),
    "a statement with a further byte": (lambda: changed(STATEMENT, lambda old: old + b"\n"), "stated"),
    "an extended statement": (lambda: files_of(stated=replaced('"version"', '"also":1,"version"')), "stated"),
    "a later time of the commit": (
        lambda: changed(STATEMENT, replaced('"source_date_epoch":0', '"source_date_epoch":1')), "proven",
    ),
    "a proof of another entry": (lambda: with_new_sums(files_of() | {PROOF: anchored(b"else")[0]}), "proven"),
    "a truncated proof": (lambda: changed(PROOF, lambda old: old[:-9]), "proven"),
    "a proof of another log with the same name": (lambda: files_of(log=OTHER_LOG), "proven"),
    "a release under another report type": (lambda: files_of(report_type="credit_report"), "opened"),
    "a foreign proof with the original sums": (
        lambda: changed(SUMS, lambda _old: files_of()[SUMS], sums=False) | {PROOF: files_of(report_type="x")[PROOF]},
        "summed",
    ),
    "a foreign proof with its sum": (
        lambda: with_new_sums(files_of() | {PROOF: files_of(report_type="x")[PROOF]}), "opened",
    ),
    "another opening": (lambda: changed(SUMS, replaced('"nonce":"00', '"nonce":"01'), sums=False), "opened"),
    "an opening with malformed JSON": (lambda: changed(SUMS, replaced('{"nonce"', '{nonce"'), sums=False), "summed"),
    "no opening": (lambda: changed(SUMS, lambda old: old.rpartition(b"#")[0], sums=False), "summed"),
}  # fmt: skip


def test_tampered_release_fails_verification(tmp_path):
    for number, (name, (files, step)) in enumerate(TAMPERINGS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        output, sentence = verify(folder, files()).strip().splitlines()
        assert (json.loads(output)["verified"], json.loads(output)["failed"]) == (False, step), name
        assert sentence.startswith(f"The release does not hold. {step}: ")


def test_renamed_release_archive_fails_verification(tmp_path):
    (tmp_path / "credit-platform-9.9.9.tar.gz").write_bytes(packed())
    assert "credit-platform-9.9.9.sbom.cdx.json is not there" in verify(
        tmp_path, files_of(), archive="credit-platform-9.9.9.tar.gz"
    )
    (tmp_path / "other.tar.gz").write_bytes(packed())
    assert "An archive is named" in verify(tmp_path, files_of(), archive="other.tar.gz")


def test_release_verification_with_a_witness_policy_requires_the_witnesses(tmp_path):
    policy = tmp_path / "policy"
    policy.write_text(f"log {LOG.verifier.vkey}\nquorum none\n")
    assert json.loads(verify(tmp_path, files_of(), "--policy", str(policy), key=None))["verified"]
    policy.write_text(f"log {LOG.verifier.vkey}\nwitness w {WITNESS.vkey}\nquorum w\n")
    assert "proven: witnesses" in verify(tmp_path, files_of(), "--policy", str(policy), key=None)


def test_release_verification_reports_a_missing_key_or_policy(tmp_path):
    for more in ((), ("--policy", "/nowhere/policy")):
        output = verify(tmp_path, files_of(), *more, key=None)
        assert "requires the ledger's key" in output or "/nowhere/policy" in output
