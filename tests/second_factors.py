"""Create second factors of users in tests."""

import json
import re
import secrets
import time
from base64 import b32decode, urlsafe_b64encode
from hashlib import sha256

from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.utils import timezone
from fido2 import cbor

from identity.accounts.codes import seal_secret
from identity.accounts.recovery import make_codes

SECRET = "A" * 32  # The secret has 20 bytes.


def secret_on(page):
    """Return the secret that the page to add an authenticator app shows in groups of four characters."""
    return re.search(r"<code>((?:[A-Z2-7]{4} ?)+)</code>", page)[1].replace(" ", "")


def authenticator_of(user, secret=SECRET):
    """Add an authenticator app to a user."""
    data = {"secret": seal_secret(secret, user.pk)}
    return Authenticator.objects.create(user=user, type="totp", data=data)


def recovery_codes_of(user):
    """Add recovery codes to a user; return them."""
    return make_codes(user, now=timezone.now())


def code_of(secret=SECRET, steps=0):
    """Return the current code of an app, or the code after some steps of 30 s."""
    return TOTP(b32decode(secret), 6, SHA1(), 30, enforce_key_length=False).generate(time.time() + 30 * steps).decode()


def wrong_code():
    """Return a code that the app does not show within minutes of now."""
    shown = {code_of(steps=steps) for steps in range(-3, 4)}
    return next(code for code in (f"{number:06}" for number in range(10)) if code not in shown)


def b64(content):
    return urlsafe_b64encode(content).decode().rstrip("=")


class SoftKey:
    """A software passkey with the same data as a browser's (WebAuthn, ES256, no attestation)."""

    def __init__(self, origin="https://testserver", private=None, identifier=None):
        self.origin = origin
        self.private = private or ec.generate_private_key(ec.SECP256R1())
        self.identifier = identifier or secrets.token_bytes(16)

    def create(self, options):
        """Respond to a page's request for a new key."""
        numbers = self.private.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        attested = bytes(16) + len(self.identifier).to_bytes(2, "big") + self.identifier + cbor.encode(public)
        fields = {
            "fmt": "none",
            "attStmt": {},
            "authData": self._data(options["publicKey"]["rp"]["id"], 0x45) + attested,
        }
        return self._answer(
            clientDataJSON=b64(self._client("webauthn.create", options)), attestationObject=b64(cbor.encode(fields))
        )

    def get(self, options):
        """Respond to a page's request for a known key."""
        client = self._client("webauthn.get", options)
        data = self._data(options["publicKey"]["rpId"], 0x05)
        signature = self.private.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer(clientDataJSON=b64(client), authenticatorData=b64(data), signature=b64(signature))

    def _client(self, kind, options):
        return json.dumps(
            {"type": kind, "challenge": options["publicKey"]["challenge"], "origin": self.origin}
        ).encode()

    def _data(self, rp_id, flags):
        return sha256(rp_id.encode()).digest() + bytes([flags]) + bytes(4)

    def _answer(self, **response):
        identifier = b64(self.identifier)
        return {"id": identifier, "rawId": identifier, "type": "public-key", "response": response}
