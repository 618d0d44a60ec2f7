"""GET /v1/applications/{id}/decision-bundle and GET /v1/scoring/verifier, used together offline."""

import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import override_settings

from ledger.keys import signer
from tests.api import ApiClient
from tests.credit.scoring.submitting import SAYS_POOR, draft_for, scored_offer, submit
from tests.credit.scoring.submitting import verify as verify_identity
from tests.credit.scoring.test_decision_bundle import read
from tests.system.credit.test_application_proof import ledger  # noqa: F401  a fixture


@pytest.mark.usefixtures("committed")
def test_the_downloaded_verifier_verifies_a_decision_bundle_offline(api, user, settings, ledger, tmp_path):
    settings.CHAIN_URL, settings.DECISIONING = ledger, "automatic"
    with override_settings(ROOT_URLCONF="config.urls"):
        verify_identity(user)
        application = draft_for(scored_offer()[0], user, SAYS_POOR)
        assert submit(api, application).status_code == 200
        call_command("decide_applications", once=True, stdout=StringIO())
    call_command("anchor_decisions", once=True, stdout=StringIO())
    with override_settings(ROOT_URLCONF="config.urls"):
        (tmp_path / "bundle.json").write_bytes(read(api, application).content)
        (tmp_path / "verify.py").write_bytes(ApiClient().read("/scoring/verifier").content)
        (tmp_path / "record-keys.json").write_bytes(ApiClient().read("/.well-known/record-keys.json").content)
    keys = ["--ledger-key", signer().verifier.vkey, "--platform-key", "record-keys.json"]
    command = [sys.executable, "-I", "-S", "verify.py", "bundle.json", *keys]
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1] == "The decision holds."
