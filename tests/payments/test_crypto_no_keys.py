"""The service holds no private key and cannot sign: there is no code that could."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APPS = ("config", "identity", "payments", "credit", "claims", "staging")
# What signing for a chain takes, in the library that is installed and in JSON-RPC.
SIGNING = re.compile(
    r"private_?key|from_key|mnemonic|sign_?transaction|sign_message|signhash|unsafe_sign|sign_typed_data|eth_sign"
    r"|eth_sendtransaction|personal_(?:sign|send|unlock|import)|account\.(?:create|decrypt|encrypt)|localaccount|keystore"
    r"|eth_keyfile"
)
# Keys of other kinds, which never meet the chain: the service's own tokens are signed with one.
NOT_OF_THE_CHAIN = {"identity"}


def sources(app):
    """The Python files of an app, but for what signs records for the ledger, and tables."""
    left_out = {"anchoring", "migrations"}
    return sorted(path for path in (ROOT / app).rglob("*.py") if not left_out & set(path.with_suffix("").parts))


@pytest.mark.parametrize("app", [app for app in APPS if app not in NOT_OF_THE_CHAIN])
def test_no_code_holds_a_private_key_or_signs(app):
    assert sources(app)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources(app)
        for number, line in enumerate(path.read_text().lower().splitlines(), 1)
        if SIGNING.search(line) and "no private key" not in line
    ]
    assert found == []


def test_no_other_package_uses_signing_libraries():
    users = {
        path.relative_to(ROOT).as_posix()
        for app in APPS
        for path in sources(app)
        if re.search(r"\b(?:eth_account|eth_keys)\b", path.read_text())
    }
    assert users == {"payments/chain/transactions.py"}
