"""The libraries that can sign transactions are not loaded when the platform starts."""

import subprocess
import sys

from tests.processes import ROOT


def test_starting_the_platform_loads_no_signing_library():
    code = (
        "import os, sys, django; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'config.settings'); django.setup();"
        "import config.urls; print([name for name in ('eth_account', 'eth_utils', 'rlp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
