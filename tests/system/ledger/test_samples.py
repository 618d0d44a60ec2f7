"""The code samples of the ledger's OpenAPI document run successfully."""

import hashlib
import json

import pytest

from config.api.docs import document_bytes
from tests.docs.test_samples import LANGUAGES
from tests.system.samples import Reader, missing

REPORT = "It's what the report says."


@pytest.mark.urls("ledger.urls")
@pytest.mark.parametrize("language", LANGUAGES)
def test_ledger_code_samples_anchor_a_report_and_verify_its_proof(committed_log, live_server, tmp_path, language):
    if missing(language):
        pytest.skip(missing(language))
    folder = tmp_path / "pasted"
    folder.mkdir()
    document = json.loads(document_bytes("ledger.urls"))
    reader = Reader(document, live_server.url, key="", folder=folder, language=language)
    report = {"user_id": "42", "report_type": "credit_report", "report_data": REPORT}
    report_hash = hashlib.sha256(REPORT.encode()).hexdigest()
    assert report_hash in reader.run("records_anchor", body=report)
    reader.run("records_anchor_batch", body={"items": [report, {**report, "report_data": "Another."}]})
    assert report_hash in reader.run("records_hash", report_hash=report_hash)
    reader.run("proofs_proof", report_hash=report_hash)
    proof = reader.run("proofs_proof_file", report_hash=report_hash) + "\n"
    assert proof.startswith("c2sp.org/tlog-proof@v1\n")
    reader.run("proofs_verify", body={"proof": proof, "report_data": REPORT})
    reader.run("nodes_consistency", query={"from": 1, "to": 2})
    reader.run("nodes_tile", path="0/000.p/2")
    assert len((folder / "download").read_bytes()) == 2 * 32
    reader.run("nodes_checkpoint")
    assert "<!doctype html>" in reader.run("explorers_list")
