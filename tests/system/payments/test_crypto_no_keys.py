"""The libraries that decode signed transactions, and could sign, are loaded only with a transaction."""

import subprocess
import sys

from tests.processes import ROOT


def test_key_libraries_load_only_with_a_signed_transaction():
    code = (
        "import os, sys, django; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'config.settings'); django.setup();"
        "import config.urls; print([name for name in ('eth_account', 'eth_utils', 'rlp') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
