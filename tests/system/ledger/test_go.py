"""Go's golang.org/x/mod/sumdb verifies the ledger's checkpoints and cosignatures.

Requires Debian's golang-go and golang-golang-x-mod-dev.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import call_command

from ledger.checkpoint import encode_base64
from ledger.keys import signer
from ledger.proof_file import ProofFile, report_digest
from tests.ledger.conftest import seal_reports
from tests.ledger.witnesses import Witness, cosigner, policy_of, serving

GOPATH = Path("/usr/share/gocode")
PROGRAM = Path(__file__).parent / "go" / "check.go"

pytestmark = [
    pytest.mark.django_db(databases="__all__"),
    pytest.mark.urls("ledger.urls"),
    pytest.mark.skipif(
        shutil.which("go") is None or not (GOPATH / "src/golang.org/x/mod/sumdb").is_dir(),
        reason="needs Debian's golang-go and golang-golang-x-mod-dev",
    ),
]


@pytest.fixture(scope="module")
def go_errors(tmp_path_factory):
    """A function that runs the Go program, and returns its errors, or an empty string."""
    folder = tmp_path_factory.mktemp("go")
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GOCACHE": str(folder / "cache"), "GOPATH": str(GOPATH),
        "GO111MODULE": "off", "GOFLAGS": "-p=1",
    }  # fmt: skip
    subprocess.run(["go", "build", "-o", folder / "check", PROGRAM], env=environment, check=True)

    def verify(**data):
        done = subprocess.run([folder / "check"], input=json.dumps(data), capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (done.stderr == "")
        return done.stderr

    return verify


@pytest.fixture
def cosigned(client, settings, tmp_path):
    """Three cosigned checkpoints, the consistency proofs between them, and an inclusion proof, as the Go input."""
    notes, proofs, sizes = [], [], []
    with serving(*(Witness(number) for number in (1, 2, 3))) as addresses:
        (tmp_path / "policy").write_text(policy_of(addresses))
        settings.WITNESS_POLICY = str(tmp_path / "policy")
        for size in (3, 300, 700):
            seal_reports([f"report {size} {number}" for number in range(size)])
            call_command("ask_witnesses", "--once", verbosity=0)
            notes.append(client.get("/checkpoint").content.decode())
            sizes.append(int(notes[-1].split("\n")[1]))
            if len(sizes) > 1:
                proof = client.get(f"/consistency?from={sizes[-2]}&to={sizes[-1]}").json()["proof"]
                proofs.append([encode_base64(bytes.fromhex(digest)) for digest in proof])
    digest = report_digest("report 300 123")
    file = ProofFile.from_text(client.get(f"/proof/{digest.hex()}.tlog-proof").content.decode())
    assert file.checkpoint_note == notes[-1]
    return {
        "LogKey": signer().verifier.vkey, "WitnessKeys": [cosigner(number).verifier.vkey for number in (1, 2, 3)],
        "Notes": notes, "Consistency": proofs, "Entry": encode_base64(digest + file.extra), "Index": file.index,
        "Path": [encode_base64(item) for item in file.path],
    }  # fmt: skip


def test_go_verifies_cosigned_checkpoints_and_proofs_of_the_ledger(go_errors, cosigned):
    assert go_errors(**cosigned) == ""


def test_go_rejects_tampered_checkpoints_and_proofs_of_the_ledger(go_errors, cosigned):
    other = cosigner(7).verifier.vkey.replace("w7", "w3")
    assert go_errors(**{**cosigned, "Path": cosigned["Path"][:-1]})
    assert go_errors(**{**cosigned, "Consistency": cosigned["Consistency"][::-1]})
    assert go_errors(**{**cosigned, "Notes": [note.replace("\n3\n", "\n4\n") for note in cosigned["Notes"]]})
    assert go_errors(**{**cosigned, "WitnessKeys": [*cosigned["WitnessKeys"][:2], other]})
