"""Serve a stateful, strict double of the Circle wallet operations that this platform uses."""

import base64
import re
import uuid
from hashlib import sha256

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from payments.wallets.custody.circle import BLOCKCHAINS
from tests.payments.http_double import HttpDouble, Received, Reply

API_KEY = "TEST_API_KEY:0f1e2d:secret"
ENTITY_SECRET = "7ae43b03d7e48795cbf39ddad2f58dc8e186eb3d2dab3a5ec5bb3b33946639a4"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def circle_error(status, code, message):
    return Reply(status=status, content={"code": code, "message": message})


class CircleDouble(HttpDouble):
    """Circle, with one account.

    `faults` maps a path prefix to `before` or `after` (the connection is closed before or after the call), or to a
    Reply. Without `remembers_keys`, it immediately forgets idempotency keys. With `requires_secret`, the entity
    secret is required, and each ciphertext is accepted once.
    """

    def __init__(self):
        super().__init__()
        self.wallet_sets, self.wallets, self.balances = {}, {}, {}
        self.keys = {}
        self.faults = {}
        self.remembers_keys = True
        self.requires_secret = False
        self.ciphertexts = set()

    def answer(self, request: Received) -> Reply:
        if request.headers.get("Authorization") != f"Bearer {API_KEY}":
            return circle_error(401, 401, "Malformed authorization.")
        fault = next((item for path, item in self.faults.items() if request.path.startswith(path)), None)
        if isinstance(fault, Reply):
            return fault
        if fault == "before":
            return Reply(hang_up=True)
        reply = self._answer(request)
        return Reply(hang_up=True) if fault == "after" else reply

    def _answer(self, request):
        route = (request.method, re.sub(r"/wallets/[^/]+/balances$", "/wallets/{id}/balances", request.path))
        known = {
            ("GET", "/v1/w3s/config/entity/publicKey"): self._public_key,
            ("POST", "/v1/w3s/developer/walletSets"): self._make_set,
            ("POST", "/v1/w3s/developer/wallets"): self._make_wallets,
            ("GET", "/v1/w3s/wallets"): self._list,
            ("GET", "/v1/w3s/wallets/{id}/balances"): self._balances,
        }
        return known[route](request) if route in known else circle_error(404, -1, "Resource not found")

    def _public_key(self, _request):
        pem = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return Reply(content={"data": {"publicKey": pem.decode()}})

    def _check(self, body):
        """Return Circle's error for an invalid creation request, or None."""
        if not UUID4.fullmatch(str(body.get("idempotencyKey"))):
            return circle_error(400, 2, "API parameter invalid: idempotencyKey")
        if not self.requires_secret:
            return None
        ciphertext = body.get("entitySecretCiphertext")
        if ciphertext is None:
            return circle_error(400, 2, "API parameter invalid: entitySecretCiphertext")
        if ciphertext in self.ciphertexts:
            return circle_error(409, 156015, "Entity secret ciphertext was used before")
        self.ciphertexts.add(ciphertext)
        padder = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
        secret = KEY.decrypt(base64.b64decode(ciphertext), padder)
        return None if secret.hex() == ENTITY_SECRET else circle_error(403, 156013, "Entity secret is invalid")

    def _once(self, body, make):
        """Return the stored response of an idempotency key. At the first use, create the response with `make`."""
        error = self._check(body)
        if error is not None:
            return error
        key = body["idempotencyKey"]
        if not self.remembers_keys or key not in self.keys:
            self.keys[key] = make()
        return Reply(status=201, content={"data": self.keys[key]})

    def _make_set(self, request):
        def make():
            fields = {"id": str(uuid.uuid4()), "custodyType": "DEVELOPER", "name": request.body["name"]}
            self.wallet_sets[fields["id"]] = fields
            return {"walletSet": fields}

        return self._once(request.body, make)

    def _make_wallets(self, request):
        body = request.body
        if body.get("walletSetId") not in self.wallet_sets:
            return circle_error(404, 156001, "Wallet set is not found")
        if not set(body["blockchains"]) <= set(BLOCKCHAINS.values()) or body["accountType"] not in {"EOA", "SCA"}:
            return circle_error(400, 2, "API parameter invalid")
        if len(body.get("metadata", [{}])) != body["count"]:
            return circle_error(400, 155503, "Metadata length does not match the count")

        def make():
            created = [
                self._wallet(body, blockchain) for blockchain in body["blockchains"] for _ in range(body["count"])
            ]
            return {"wallets": created}

        return self._once(body, make)

    def _wallet(self, body, blockchain):
        identifier = str(uuid.uuid4())
        self.wallets[identifier] = {
            "id": identifier, "state": "LIVE", "walletSetId": body["walletSetId"], "custodyType": "DEVELOPER",
            "address": "0x" + sha256(identifier.encode()).hexdigest()[:40], "blockchain": blockchain,
            "accountType": body["accountType"], "refId": body["metadata"][0].get("refId"),
        }  # fmt: skip
        return self.wallets[identifier]

    def _list(self, request):
        wallets = [
            wallet
            for wallet in self.wallets.values()
            if all(wallet.get(name) == value for name, value in request.query.items() if name in wallet)
        ]
        return Reply(content={"data": {"wallets": wallets}})

    def _balances(self, request):
        identifier = request.path.split("/")[-2]
        if identifier not in self.wallets:
            return circle_error(404, 156001, "Cannot find target wallet in the system")
        return Reply(content={"data": {"tokenBalances": self.balances.get(identifier, [])}})


def coin(amount, symbol="USDC", decimals=6):
    token = {"id": str(uuid.uuid4()), "blockchain": "BASE", "symbol": symbol, "decimals": decimals, "isNative": False}
    return {"amount": amount, "token": token, "updateDate": "2026-01-01T00:00:00Z"}
