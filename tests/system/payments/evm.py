"""Run anvil, a real EVM chain, with a token of six decimals, and sign transactions of accounts."""

import json
import platform
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import requests
from eth_account import Account
from eth_utils.address import to_checksum_address

from payments.chain.transactions import transfer_call_data
from tests.payments.crypto_support import CHAIN_ID
from tests.payments.http_double import HttpDouble, Received, Reply
from tests.processes import PATIENCE_SECONDS, wait_until

HERE = Path(__file__).parent
MODULES = HERE / "chain" / "node_modules"
SUPPLY = 10**18
ETHER = 10**18


def missing():
    """Return the requirements that this machine lacks, or an empty string if it meets all."""
    if shutil.which("node") is None:
        return "needs node"
    if not _anvil().exists() or not (MODULES / "solc").exists():
        return "needs anvil and solc: run `npm install --no-save` in tests/system/payments/chain"
    return ""


def _anvil():
    """Return the path of the anvil binary in the npm package, which tests can end, unlike its wrapper."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    system = platform.system().lower()
    return MODULES / "@foundry-rs" / f"anvil-{system}-{machine}" / "bin" / "anvil"


@cache
def token_bytecode():
    """Return the token's creation code, compiled from its source."""
    compiled = subprocess.run(
        ["node", HERE / "chain" / "compile.cjs", HERE / "contracts" / "TestToken.sol"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return json.loads(compiled.stdout)["bytecode"]


class Chain:
    """An anvil process with a token. Without `mine_by_hand`, it mines a block for each transaction."""

    def __init__(self):
        # Output goes to a file, because a full pipe would block the node.
        self._log = tempfile.NamedTemporaryFile("w+", prefix="anvil-", suffix=".log")  # noqa: SIM115
        self._process = subprocess.Popen(
            [_anvil(), "--port", "0", "--chain-id", str(CHAIN_ID), "--accounts", "1"],
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            self.url = f"http://{wait_until(self._address)}"
            self.issuer = self.new_account()
            created = self.send(self.issuer, to=None, data=token_bytecode() + f"{SUPPLY:064x}", gas=3_000_000)
            self.token = to_checksum_address(self.mined(created)["contractAddress"])
        except BaseException:
            self.stop()  # no other code would end the process
            raise

    def stop(self):
        """Stop the anvil process."""
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        self._log.close()

    def _address(self):
        """Return host and port from the node's log, or None before the node listens."""
        match = re.search(r"Listening on (127\.0\.0\.1:\d+)", Path(self._log.name).read_text())
        return match[1] if match else None

    def mined(self, tx_hash):
        """Wait until a transaction is in a block; return its receipt."""
        return wait_until(lambda: self.rpc("eth_getTransactionReceipt", tx_hash))

    def rpc(self, method, *params):
        """Call the node directly, without the double."""
        answer = requests.post(
            self.url,
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)},
            timeout=PATIENCE_SECONDS,
        ).json()
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def new_account(self, *, ether=10):
        """Create an account with a balance in ether for fees."""
        account = Account.create()
        self.rpc("anvil_setBalance", account.address, hex(ether * ETHER))
        return account

    def new_payer(self, units):
        """Create an account with a token balance."""
        account = self.new_account()
        self.mined(self.send(self.issuer, to=self.token, data=transfer_call_data(account.address, units)))
        return account

    def send(self, account, *, to, data, gas=200_000, **changes):
        """Sign and send a transaction of an account; return the hash."""
        return self.rpc("eth_sendRawTransaction", self.sign(account, to=to, data=data, gas=gas, **changes))

    def sign(self, account, *, to, data, gas=200_000, **changes):
        """Sign a transaction; return it as hex."""
        fees = {"maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9, "type": 2}
        content = {"data": data, "value": 0, "chainId": CHAIN_ID, "gas": gas, "nonce": self.nonce(account), **fees}
        if to is not None:
            content["to"] = to
        return "0x" + account.sign_transaction({**content, **changes}).raw_transaction.hex().removeprefix("0x")

    def nonce(self, account):
        """Return the account's next nonce."""
        return int(self.rpc("eth_getTransactionCount", account.address, "pending"), 16)

    def balance(self, address):
        """Return the token balance of an address."""
        data = "0x70a08231" + address[2:].lower().rjust(64, "0")
        return int(self.rpc("eth_call", {"to": self.token, "data": data}, "latest"), 16)

    def mine(self, blocks=1):
        """Mine blocks."""
        self.rpc("anvil_mine", hex(blocks))

    def mine_by_hand(self, on=True):
        """Disable automatic mining, or with `on=False` enable it."""
        self.rpc("evm_setAutomine", not on)


class NodeDouble(HttpDouble):
    """A double in front of the real node that forwards and counts every call, and can inject faults.

    `faults` maps a method to the fault of its calls. With `before`, the call is not forwarded. With `after`, the node
    gets the call, and the response is lost. A Reply replaces the response, and a dict replaces its `result` or `error`.
    """

    def __init__(self, chain):
        super().__init__()
        self.chain = chain
        self.faults = {}
        self.before_each = None

    def answer(self, request: Received) -> Reply:
        method = request.body["method"]
        if self.before_each is not None:
            self.before_each(method)
        fault = self.faults.get(method)
        if isinstance(fault, Reply):
            return fault
        if isinstance(fault, dict):
            return Reply(content={"jsonrpc": "2.0", "id": request.body["id"], **fault})
        if fault == "before":
            return Reply(hang_up=True)
        response = requests.post(self.chain.url, json=request.body, timeout=PATIENCE_SECONDS)
        if fault == "after":
            return Reply(hang_up=True)
        return Reply(status=response.status_code, raw=response.content)

    def calls(self, method):
        """Return the number of calls of a method."""
        return sum(1 for request in self.received if request.body["method"] == method)

    @property
    def broadcasts(self):
        """Return the number of transactions sent to the node."""
        return self.calls("eth_sendRawTransaction")
