"""A withdrawal from a contract is anchored in a ledger."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from credit.models import DecisionAnchor
from ledger.keys import signer
from tests.api import ApiClient, client_of
from tests.credit.eu.test_contract_withdrawal import concluded, declare, read
from tests.credit.test_record_keys import PATH, verify_signature
from tests.system.credit.test_application_proof import anchor, ledger  # noqa: F401  a fixture


def verify(proof, report):
    call_command(
        "verify", str(proof), "--report", str(report), "--ledger-key", signer().verifier.vkey, stdout=StringIO()
    )


@pytest.mark.usefixtures("committed")
def test_a_contract_withdrawal_is_anchored_once_and_its_proof_verifies_offline(settings, ledger, tmp_path):
    application = concluded(at=timezone.now() - timedelta(days=2))
    client = client_of(application.consumer)
    settings.CHAIN_URL = "http://127.0.0.1:9"  # no server listens on this port
    with override_settings(ROOT_URLCONF="config.urls"):
        assert declare(client, application).json()["proof"]["status"] == "pending"
    with pytest.raises(CommandError):
        anchor()
    settings.CHAIN_URL = ledger
    DecisionAnchor.objects.update(due_at=timezone.now())
    assert anchor() == {"anchored": 2, "failed": 0}  # the withdrawal, and the key that signed it
    assert anchor() == {"anchored": 0, "failed": 0}
    with override_settings(ROOT_URLCONF="config.urls"):
        proof = read(client, application).json()["proof"]
        keys = ApiClient().read(PATH).json()["keys"]
    assert (proof["status"], proof["opening"]["report_type"]) == ("anchored", "contract_withdrawal")
    verify_signature(keys, "contract_withdrawal", proof["record"], proof["signature"])
    (tmp_path / "record.tlog-proof").write_text(proof["proof_file"])
    (tmp_path / "record.json").write_text(proof["record"])
    verify(tmp_path / "record.tlog-proof", tmp_path / "record.json")
    (tmp_path / "record.json").write_text(proof["record"].replace('"api"', '"post"'))
    with pytest.raises(CommandError):
        verify(tmp_path / "record.tlog-proof", tmp_path / "record.json")
