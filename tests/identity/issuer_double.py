"""Serve an OpenID Connect issuer on 127.0.0.1: discovery, tokens, keys, and userinfo; log in at it.

A test sets `person` (the claims of the user who logs in) and, to simulate a wrong or hostile issuer, `changes`.
"""

import json
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from hashlib import sha256
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client
from django.utils import timezone

from config.core.groups import SUPPORT
from config.core.lifecycle import Actor
from identity.accounts.invitations import invite
from identity.oidc.client import LOGOUT_EVENT
from identity.oidc.environment import Issuer
from tests.payments.http_double import HttpDouble, Reply

KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
STRANGER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
PUBLIC_PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
CLIENT, SECRET = "platform:1", "s/ecret&"
EMAIL = "jane@staff.example"
JANE = {"sub": "jane-1", "email": EMAIL, "email_verified": True, "groups": ["idp-support"], "sid": "s1"}


def hmac_token(claims, key):
    """Sign with HS256 by hand: the library rejects a public key as the secret."""
    import hmac

    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "kid": "one", "typ": "JWT"}, claims)]
    text = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = urlsafe_b64encode(hmac.digest(key, text, "sha256")).rstrip(b"=")
    return b".".join((text, signature)).decode()


class IssuerDouble(HttpDouble):
    def __init__(self):
        super().__init__()
        self.person = {}
        self.codes = {}
        self.is_down = False
        self.metadata_changes, self.claim_changes, self.response_changes = {}, {}, {}
        self.userinfo = None  # The issuer adds these claims.
        self.sign = self.sign_well

    @property
    def client(self):
        return Issuer(f"{self.url}/tenant", CLIENT, SECRET)

    @property
    def metadata(self):
        base = self.client.url
        fields = {
            "issuer": base, "authorization_endpoint": f"{base}/authorize?tenant=1", "token_endpoint": f"{base}/token",
            "jwks_uri": f"{base}/keys", "scopes_supported": ["openid", "email", "groups"],
            "acr_values_supported": ["phr", "1"], "authorization_response_iss_parameter_supported": True,
            **({} if self.userinfo is None else {"userinfo_endpoint": f"{base}/userinfo"}), **self.metadata_changes,
        }  # fmt: skip
        return {name: value for name, value in fields.items() if value is not None}

    def answer(self, request):
        if self.is_down:
            return Reply(status=503, content={})
        name = request.path.removeprefix("/tenant")
        if name == "/.well-known/openid-configuration":
            return Reply(content=self.metadata)
        if name == "/keys":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
            return Reply(content={"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]})
        if name == "/userinfo":
            return Reply(content={"sub": self.person["sub"], **self.userinfo})
        return self.exchange(request) if name == "/token" else Reply(status=404)

    def authorize(self, query):
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        assert query["client_id"] == CLIENT
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        response = {"code": code, "state": query["state"], "iss": self.client.url, **self.response_changes}
        values_by_name = {name: value for name, value in response.items() if value is not None}
        return Reply(status=302, headers={"Location": f"{query['redirect_uri']}?{urlencode(values_by_name)}"})

    def exchange(self, request):
        form = {name: values[0] for name, values in parse_qs(request.data.decode()).items()}
        pair = b64decode(request.headers["Authorization"].removeprefix("Basic ")).decode()
        assert [unquote_plus(part) for part in pair.split(":")] == [CLIENT, SECRET]
        begun = self.codes.pop(form["code"], None)
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if begun is None or begun["code_challenge"] != challenge or begun["redirect_uri"] != form["redirect_uri"]:
            return Reply(status=400, content={"error": "invalid_grant"})
        return Reply(content={"access_token": "at", "token_type": "Bearer", "id_token": self.id_token(begun["nonce"])})

    def id_token(self, nonce):
        return self.sign(self.claims(nonce=nonce, amr=["pwd", "otp"], **self.person))

    def claims(self, **further):
        now = int(time.time())
        claims = {"iss": self.client.url, "aud": CLIENT, "iat": now, "exp": now + 300, **further, **self.claim_changes}
        return {name: value for name, value in claims.items() if value is not None}

    def logout_token(self, **claims):
        return self.sign(self.claims(events={LOGOUT_EVENT: {}}, jti=secrets.token_hex(8), **claims))

    @staticmethod
    def sign_well(claims, key=KEY, algorithm="RS256", kid="one"):
        return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})

    def visit(self, address):
        """Log in at the issuer as `person`; return the path and query of its redirect."""
        assert address.startswith(f"{self.client.url}/authorize?")
        parts = urlsplit(self.authorize(dict(parse_qsl(urlsplit(address).query))).headers["Location"])
        return f"{parts.path}?{parts.query}"


def with_changed(address, **changes):
    parts = urlsplit(address)
    return f"{parts.path}?{urlencode({**dict(parse_qsl(parts.query)), **changes})}"


def invited():
    return invite(actor=Actor.system("test"), email=EMAIL, role="staff", group=SUPPORT, now=timezone.now())


def start_log_in(issuer, browser=None, wanted="/admin/"):
    """Start at the platform's log-in page and log in at the issuer; return the browser and the redirect address."""
    browser = browser or Client()
    start = browser.get("/account/oidc/start", {"next": wanted})
    assert start.status_code == 302, start.content
    return browser, issuer.visit(start.headers["Location"])


def log_in(issuer, browser=None, **person):
    """Log in as the issuer's `person`; return the browser and the response of the platform."""
    issuer.person.update(person)
    browser, back = start_log_in(issuer, browser)
    return browser, browser.get(back)


def is_in(browser):
    return browser.get("/admin/").status_code == 200
