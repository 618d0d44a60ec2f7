import os
import subprocess
import sys

from tests.processes import ROOT


def test_the_service_of_the_ledger_prunes_without_accounts():
    """Its process has none of the packages that keep them."""
    program = "import django; django.setup(); from config.core.registration import declared; declared('prune_rules')"
    environment = {**os.environ, "SERVICE": "ledger", "DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=ROOT, check=True)
