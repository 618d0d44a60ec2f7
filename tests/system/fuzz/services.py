"""Run both services on a separate database, with records whose IDs generated requests can use."""

import base64
import contextlib
import json
import os
import secrets
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import requests

from tests.credit.scoring.cards import DEFINITION, POOR
from tests.databases import store_environment
from tests.processes import ROOT, manage
from tests.system.server import gunicorn

ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
# The ledger runs in the production profile, and trusts 127.0.0.1 as its proxy.
BEHIND_PROXY = {"X-Forwarded-Proto": "https"}
TYPED_TRANSACTION = "0x02" + "c0" * 8


@dataclass
class Services:
    """The URLs of both services, and the credentials of an unrestricted account."""

    platform: str
    ledger: str
    owner: dict[str, Any]
    newcomer: str  # the API key of an account without records
    bearer: str = ""
    number: int = 0
    session: requests.Session = field(default_factory=requests.Session)

    def send(self, path: str, body: Any = None, *, method: str = "POST", base: str = "") -> Any:
        """Send a request as the owner; return the response body."""
        headers = {"X-API-Key": self.owner["api_key"], **BEHIND_PROXY}
        answer = self.session.request(method, (base or self.platform) + path, json=body, headers=headers, timeout=99)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def stock(self, of_each: int) -> dict[str, list[Any]]:
        """Create this many records of each kind; return values for parameters and fields, by name."""
        me, values = str(self.owner["user_id"]), defaultdict(list)
        values["user_id"] = values["consumer_id"] = [me, self.owner["user_id"]]
        values["updated_by"] = [me, "reviewer"]
        for _ in range(of_each):
            self.number += 1
            self._create_records(f"{self.number}-{secrets.token_hex(4)}", me, values)
        values["Idempotency-Key"] = ["0b5c2a52-4b52-4b8f-8bd5-6f2f6d8f3c11"]
        values["access_token"] = ["access-sandbox-demo", "access-sandbox-unknown"]
        values["payment_method_id"] = ["pm_sandbox_ok", "pm_sandbox_declined", "pm_card"]
        values["method_id"] = ["pm_sandbox_ok", "1"]
        values["provider_id"] += ["1001", 1001]
        values["kind"], values["payload"] = (
            ["note", "claim"],
            [{"text": "x"}, {"text": "x", "title": "y"}],
        )
        # Each value is a new item, because approving all items would leave no item for individual approval.
        values["item_id"] = [self._stage]
        values["type"], values["object_id"] = (
            ["kyc.verification.created"],
            values["verification_id"],
        )
        values["ids"], values["query"] = [["1", "2-12", "none"]], ["loan"]
        values["refresh_token"] = [self._log_in, "not a token"]
        values["username"], values["password"] = [self.owner["username"]], [self.owner["password"]]
        values["to_address"] = values["address"] = [ADDRESS]
        values["signed_transaction"] = [TYPED_TRANSACTION, "0x00"]
        values["network"] = ["eip155:8453", "base"]
        values["url"] = ["https://receiver.example/hook"]
        values["currency"] = ["usd", "EUR"]
        return dict(values)

    def _stage(self) -> str:
        """Stage an item; return its ID."""
        staged: str = self.send("/v1/staging/items", {"kind": "note", "payload": {"text": "x"}})["id"]
        return staged

    def _log_in(self) -> str:
        """Log in; return an unused refresh token."""
        who = {"username": self.owner["username"], "password": self.owner["password"]}
        token: str = self.send("/v1/auth/token", who)["refresh_token"]
        return token

    def _create_records(self, name: str, me: str, values: dict[str, list[Any]]) -> None:
        """Create a record of each kind."""
        offer = {"provider_id": f"77{self.owner['user_id']}", "name": name, "product_type": "personal_loan"}
        offer_id = self.send("/v1/provider-offers", offer)["id"]
        values["offer_id"] += [offer_id, int(offer_id)]
        values["provider_id"] += [offer["provider_id"], int(offer["provider_id"])]
        body = {"consumer_id": me, "offer_id": int(offer_id), "provider_id": int(offer["provider_id"])}
        for status in ("draft", "under_review"):
            values["application_id"].append(self.send("/v1/applications", {**body, "initial_status": status})["id"])
        self._request_document(body, values)
        self._create_model(offer["provider_id"], values)
        claim = {"user_id": me, "publication_id": f"10.5555/{name}", "claim_type": "author"}
        values["claim_id"].append(self.send("/v1/claims", claim)["id"])
        values["publication_id"].append(claim["publication_id"])
        payment = {"user_id": self.owner["user_id"], "amount_cents": 500, "payment_method_id": "pm_sandbox_ok"}
        paid = self.send("/v1/payments/process", payment)["payment_id"]
        wallet = self.send("/v1/wallet/connect/walletconnect", {"address": f"0x{secrets.token_hex(20)}"})["id"]
        values["wallet_id"].append(wallet)
        crypto = {"user_id": me, "wallet_id": wallet, "to_address": ADDRESS, "amount_usdc": 5}
        initiated = self.send("/v1/payments/crypto/initiate", crypto)["payment_id"]
        values["payment_id"] += [str(paid), paid, initiated]
        signed = {"payment_id": initiated, "signed_transaction": "0x00"}
        if self.number % 2:
            values["tx_hash"].append(self.send("/v1/payments/crypto/confirm", signed)["tx_hash"])
        values["public_token"] += [f"public-sandbox-{name}", "public-sandbox-demo-1"]
        self._create_webhooks(name, values)
        self._anchor(name, me, values)

    def _request_document(self, body: dict[str, Any], values: dict[str, list[Any]]) -> None:
        """Create an application with a requested document and a file, once, so that their IDs match."""
        if not values["document_id"]:
            application = self.send("/v1/applications", {**body, "initial_status": "submitted"})["id"]
            address = f"/v1/applications/{application}/documents"
            document = self.send(address, {"names": ["Payslip"]})["documents"][0]["id"]
            files = {"file": ("payslip.pdf", b"%PDF-1.4\n%%EOF\n")}
            headers = {"X-API-Key": self.owner["api_key"], **BEHIND_PROXY}
            url = f"{self.platform}{address}/{document}/files"
            answer = self.session.post(url, files=files, headers=headers, timeout=99)
            assert answer.status_code == 201, answer.text
            values["document_id"], values["file_id"] = [document], [answer.json()["id"]]
            values["application_id"] += [application] * 8

    def _create_model(self, provider_id: str, values: dict[str, list[Any]]) -> None:
        """Create a scoring model with a draft version."""
        model = self.send("/v1/scoring/models", {"provider_id": provider_id, "name": "Fuzzed"})["id"]
        version = self.send(f"/v1/scoring/models/{model}/versions", {"definition": DEFINITION})["number"]
        claims = {name: value for name, value in POOR.items() if name.startswith("application_data.")}
        values["model_id"].append(str(model))
        values["blockscore_model_id"].append(model)
        values["number"].append(str(version))
        values["definition"].append(DEFINITION)
        values["facts"] += [POOR, claims]

    def _create_webhooks(self, name: str, values: dict[str, list[Any]]) -> None:
        """Create an endpoint and a delivery. Delete all endpoints first if the limit is near."""
        if len(self.send("/v1/webhooks/endpoints", method="GET")["endpoints"]) > 12:
            for endpoint in self.send("/v1/webhooks/endpoints", method="GET")["endpoints"]:
                self.send(f"/v1/webhooks/endpoints/{endpoint['id']}", method="DELETE")
        endpoint = self.send("/v1/webhooks/endpoints", {"url": f"https://receiver.example/{name}"})["id"]
        values["endpoint_id"].append(endpoint)
        values["endpoint"].append(endpoint)
        values["delivery_id"].append(self.send(f"/v1/webhooks/endpoints/{endpoint}/test")["delivery_id"])
        verifications = self.send("/v1/kyc/create", {})["verification_id"] if self.number == 1 else None
        values["verification_id"] += [verifications] if verifications else values["verification_id"][:1]

    def _anchor(self, name: str, me: str, values: dict[str, list[Any]]) -> None:
        """Anchor a report, and add values of the ledger."""
        report = {"user_id": me, "report_type": "credit_report", "report_data": name}
        anchored = self.send("/anchor", report, base=self.ledger)
        values["report_hash"] += [anchored["hash"], anchored["hash"].upper()]
        values["hash"].append(anchored["hash"])
        values["report_data"].append(name)
        values["number"].append(str(anchored["block_number"]))
        size = self.send("/stats", method="GET", base=self.ledger)["total_hashes"]
        values["from"] += [size // 2, str(size // 2)]
        values["to"] += [size, str(size)]
        values["index"] += [size - 1, str(size - 1)]
        values["path"] += [f"0/000.p/{size}", f"entries/000.p/{size}", "1/000"]
        address = f"{self.ledger}/proof/{anchored['hash']}.tlog-proof"
        file = self.session.get(address, headers=BEHIND_PROXY, timeout=99)
        values["proof"].append(file.text)


@contextlib.contextmanager
def serve(database_url: str, folder: Path, *, threads: int = 4) -> Iterator[Services]:
    """Create demo data in a migrated database, and run both services with rate limits too high to reach."""
    environment = {
        "DATABASE_URL": database_url,
        "VAR_DIR": str(folder),
        "SECRET_KEY": secrets.token_urlsafe(64),
        "FIELD_ENCRYPTION_KEYS": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "DJANGO_SETTINGS_MODULE": "tests.system.fuzz.settings",
        "PYTHONPATH": str(ROOT),
        "PATH": os.environ["PATH"],
    }
    owner = json.loads(manage(environment, "seed_demo", "--json"))
    manage(environment, "create_user", "newcomer", "--password", secrets.token_hex(), "--json")
    # The key must not expire, because requests advance the account's clock by up to 400 days.
    output = manage(environment, "create_api_key", "newcomer", "--name", "x", "--expires-days", "36500", "--json")
    values_by_name = {
        name: value for name, value in environment.items() if name not in {"DATABASE_URL", "VAR_DIR", "PATH"}
    }
    strict = {
        "ENVIRONMENT": "production",
        "ALLOW_SANDBOX": "1",
        "ALLOWED_HOSTS": "127.0.0.1",
        "BASE_URL": "https://platform.example/v1",
        "CHAIN_URL": "https://ledger.example",
        "TRUSTED_PROXIES": "127.0.0.1",
        "LEDGER_SIGNING_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
        "LEDGER_API_KEYS": sha256(owner["api_key"].encode()).hexdigest(),
    }
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((folder / "servers.log").open("wb"))
        ports = []
        for kind, wsgi, settings in (
            ("development", "config.wsgi", values_by_name),
            ("production", "ledger.wsgi", values_by_name | strict),
        ):
            store_environment(database_url, kind)  # at its start, each service checks this kind
            serving = gunicorn(database_url, folder, module=wsgi, stderr=log, threads=threads, **settings)
            ports.append(stack.enter_context(serving))
        yield Services(*(f"http://127.0.0.1:{port}" for port in ports), owner=owner, newcomer=json.loads(output)["key"])
