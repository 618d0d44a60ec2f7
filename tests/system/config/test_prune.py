import os
import subprocess
import sys

from tests.processes import ROOT


def test_prune_command_succeeds_in_the_ledger_service():
    """The ledger service does not install the apps that store accounts."""
    program = "import django; django.setup(); from config.core.registration import declared; declared('prune_rules')"
    environment = {**os.environ, "SERVICE": "ledger", "DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=ROOT, check=True)
