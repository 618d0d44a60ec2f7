"""The service holds no private key and cannot sign: there is no code that could."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APPS = ("config", "identity", "payments", "credit", "claims", "staging")
# What signing for a chain takes, in the library that is installed and in JSON-RPC.
SIGNING = re.compile(
    r"private_?key|from_key|from_mnemonic|mnemonic|sign_transaction|signTransaction|sign_message|signHash|unsafe_sign"
    r"|sign_typed_data|eth_sign|eth_sendTransaction|personal_(?:sign|send|unlock|import)|Account\.(?:create|decrypt|encrypt)|LocalAccount|keystore"
    r"|eth_keyfile|PrivateKey",
    re.IGNORECASE,
)
# Keys of other kinds, which never meet the chain: the service's own tokens are signed with one.
NOT_OF_THE_CHAIN = {"identity"}


def sources(app):
    """The Python files of an app."""
    return sorted((ROOT / app).rglob("*.py"))


@pytest.mark.parametrize("app", [app for app in APPS if app not in NOT_OF_THE_CHAIN])
def test_no_code_holds_a_private_key_or_signs(app):
    assert sources(app)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources(app)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if SIGNING.search(line) and "no private key" not in line
    ]
    assert found == []


def test_no_other_room_uses_the_libraries_that_could():
    users = {
        path.relative_to(ROOT).as_posix()
        for app in APPS
        for path in sources(app)
        if re.search(r"\b(?:eth_account|eth_keys)\b", path.read_text())
    }
    assert users == {"payments/chain/transactions.py"}


@pytest.mark.slow  # a process
def test_they_are_loaded_only_when_a_signed_transaction_is_read():
    import subprocess
    import sys

    code = (
        "import os, sys, django; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'config.settings'); django.setup();"
        "import config.urls; print([name for name in ('eth_account', 'eth_utils', 'rlp') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
