"""Test the canonical encoding of tlog-proof files, and their verification offline and by third-party code."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger import merkle, proof_file
from ledger.checkpoint import Checkpoint, NoteError, Signer
from tests.ledger import foreign
from tests.ledger.trees import tree_root

SIGNER = Signer("ledger.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
REPORTS = [f"report {number}" for number in range(5)]
COMMITMENT = b"\x22" * 32
LEAVES = [merkle.leaf_hash(proof_file.report_digest(report) + COMMITMENT) for report in REPORTS]
NOTE = SIGNER.sign(Checkpoint(SIGNER.name, 5, tree_root(LEAVES)).text())


def proof_of(index: int) -> proof_file.ProofFile:
    path = tuple(tree_root(LEAVES[start:end]) for start, end in merkle.inclusion_ranges(index, 5))
    return proof_file.ProofFile(index, path, NOTE, COMMITMENT)


def names_and_verdicts(text: str, report: str) -> list[tuple[str, bool]]:
    steps = proof_file.check_proof(text, proof_file.report_digest(report), SIGNER.verifier)
    return [(step.name, step.ok) for step in steps]


def test_proof_file_is_parsed_unchanged_and_accepted_by_a_third_party_library():
    for index in range(5):
        text = proof_of(index).text()
        assert proof_file.ProofFile.from_text(text) == proof_of(index)
        assert names_and_verdicts(text, REPORTS[index]) == [
            ("file", True), ("checkpoint", True), ("leaf", True), ("inclusion", True)
        ]  # fmt: skip
        assert foreign.accepts_proof_file(text, LEAVES[index], SIGNER.verifier.vkey)


def test_proof_file_with_another_report_or_commitment_fails_at_the_inclusion_step():
    assert names_and_verdicts(proof_of(2).text(), REPORTS[3])[-1] == ("inclusion", False)
    changed = proof_file.ProofFile(2, proof_of(2).path, NOTE, b"\x23" * 32).text()
    assert names_and_verdicts(changed, REPORTS[2])[-1] == ("inclusion", False)


def test_proof_file_with_a_checkpoint_of_another_key_fails_at_the_checkpoint_step():
    stranger = Signer(SIGNER.name, Ed25519PrivateKey.from_private_bytes(bytes(32)))
    note = stranger.sign(Checkpoint(SIGNER.name, 5, tree_root(LEAVES)).text())
    changed = proof_file.ProofFile(2, proof_of(2).path, note, COMMITMENT).text()
    assert names_and_verdicts(changed, REPORTS[2])[-1] == ("checkpoint", False)


def test_verification_of_a_proof_file_without_the_commitment_fails():
    bare = proof_file.ProofFile(2, proof_of(2).path, NOTE).text()
    assert proof_file.ProofFile.from_text(bare).extra is None
    assert names_and_verdicts(bare, REPORTS[2]) == [("file", False)]


TEXT = proof_of(2).text()


@pytest.mark.parametrize(
    "text",
    ["", "c2sp.org/tlog-proof@v1", TEXT.replace("@v1", "@v2"), TEXT.replace("index 2", "index 02"),
     TEXT.replace("index 2", "index -2"), TEXT.replace("index 2", "index"), TEXT.replace("index 2\n", ""),
     TEXT.replace("extra ", "extra  "), TEXT.replace("extra ", "Extra "), TEXT.replace("=\n\n", "\n\n", 1),
     TEXT.replace("\n\n", "\n", 1), TEXT.replace("\n", "\r\n"), " " + TEXT, TEXT + "\n", TEXT[:-1],
     TEXT.replace("\n\n", "\n" + "A" * 43 + "=\n" * 1 + ("A" * 43 + "=\n") * 64 + "\n", 1)],
)  # fmt: skip
def test_malformed_proof_file_is_rejected(text):
    with pytest.raises(NoteError):
        proof_file.ProofFile.from_text(text)
    assert names_and_verdicts(text, REPORTS[2]) == [("file", False)]


def test_verification_of_a_proof_file_with_a_changed_byte_fails():
    raw = TEXT.encode()
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 0x01]) + raw[at + 1 :]
        try:
            text = changed.decode()
        except UnicodeDecodeError:
            continue
        assert names_and_verdicts(text, REPORTS[2])[-1][1] is False
