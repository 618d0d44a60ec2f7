"""The keys that sign access tokens: which one signs now, and which ones verify.

# Note [Published first, signs later] A new key signs PUBLISHED_AHEAD_SECONDS after it is published. Until then every
process has read it again (KEYS_REMEMBERED_SECONDS), and every cached copy of the key set has run out
(JWKS_MAX_AGE_SECONDS); the rest is for clocks that differ. The very first key has to sign at once: the first caller
makes it (`_alone`), and an empty ring is never cached.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import connection, transaction
from django.utils import timezone
from jwt.algorithms import ECAlgorithm

from config.core.encryption import UnreadableSecret
from config.core.tokens import ALGORITHM
from identity.access.models import SigningKey

PUBLISHED_AHEAD_SECONDS = 60
JWKS_MAX_AGE_SECONDS = 30
# With `authentication.REMEMBERED_SECONDS` it makes the five seconds in which what is revoked ends.
KEYS_REMEMBERED_SECONDS = 2.0

# Public members of a key; all others stay in its record.
PUBLIC_MEMBERS = ("kty", "crv", "x", "y", "kid", "use", "alg")

# Processes that create keys hold this advisory lock of PostgreSQL: "jwks" in ASCII.
_ADVISORY_LOCK = int.from_bytes(b"jwks", "big")


def live_signing_keys(now: datetime) -> list[SigningKey]:
    """Return the keys whose tokens are accepted, newest first, those that do not sign yet among them."""
    return [key for key in SigningKey.objects.all() if key.retires_at is None or key.retires_at > now]


def public_keys(now: datetime) -> list[dict[str, str]]:
    """Return the public halves of the live keys as JSON Web Keys, making the first key when there is none."""
    key_ring.signing()
    return [{name: key.public_jwk[name] for name in PUBLIC_MEMBERS} for key in live_signing_keys(now)]


def key_that_signs(live: list[SigningKey], now: datetime) -> SigningKey | None:
    """Return the newest key whose time has come and that nothing replaces, else the newest that is being replaced."""

    def order(key: SigningKey) -> tuple[bool, datetime]:
        return key.retires_at is None, key.signs_from

    due = [key for key in live if key.signs_from <= now]
    # Where the clock was set back to before all of them, the one that has been published for longest.
    return max(due, key=order) if due else min(live, key=order, default=None)


def create_signing_key(*, now: datetime, signs_from: datetime) -> SigningKey:
    private = ec.generate_private_key(ec.SECP256R1())
    kid = secrets.token_hex(8)
    jwk = ECAlgorithm(ECAlgorithm.SHA256).to_jwk(private.public_key(), as_dict=True)
    return SigningKey.objects.create(
        kid=kid,
        private_key=private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
        public_jwk={**jwk, "kid": kid, "use": "sig", "alg": ALGORITHM},
        created_at=now,
        signs_from=signs_from,
    )


def rotate_signing_key(*, now: datetime, overlap: timedelta) -> tuple[SigningKey, list[str]]:
    """Publish a new key; return it and the ids of those it replaces, which verify for `overlap`, or until it signs."""
    with _alone():
        live = live_signing_keys(now)
        signs_from = now + timedelta(seconds=PUBLISHED_AHEAD_SECONDS if live else 0)
        replaced = [key.kid for key in live if key.retires_at is None]
        SigningKey.objects.filter(kid__in=replaced).update(retires_at=max(now + overlap, signs_from))
        fresh = create_signing_key(now=now, signs_from=signs_from)
    key_ring.forget()
    return fresh, replaced


@contextmanager
def _alone() -> Iterator[None]:
    """Run the block in a transaction that excludes other makers of keys."""
    with transaction.atomic():
        if connection.vendor == "postgresql":  # SQLite's transactions have one writer
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
        yield


def _private_key_of(key: SigningKey) -> Any:
    """Raises UnreadableSecret when no encryption key opens it."""
    return serialization.load_pem_private_key(key.private_key.encode(), password=None)


class KeyRing:
    """The signing keys of the database, remembered for KEYS_REMEMBERED_SECONDS."""

    def __init__(self) -> None:
        self._keys: tuple[float, list[SigningKey], dict[str, Any]] | None = None

    def forget(self) -> None:
        self._keys = None

    def signing(self) -> tuple[str, Any]:
        """Return (kid, private key) of the key that signs now, making the first one when there is none."""
        (known, _), now = self._read(), timezone.now()
        live = list(known)
        while (key := key_that_signs(live, now)) is not None:
            try:
                return key.kid, _private_key_of(key)
            except UnreadableSecret:
                live.remove(key)  # it verifies as before; another one may sign
        key = self._make_first(now, besides=known)
        return key.kid, _private_key_of(key)

    def verifying(self, kid: str) -> Any:
        return self._read()[1].get(kid)

    def _make_first(self, now: datetime, *, besides: list[SigningKey]) -> SigningKey:
        """Make the first usable key, unless another process has just done so."""
        with _alone():
            live = [key for key in live_signing_keys(now) if key not in besides]
            key = key_that_signs(live, now) or create_signing_key(now=now, signs_from=now)
        self.forget()
        return key

    def _read(self) -> tuple[list[SigningKey], dict[str, Any]]:
        # The cache is replaced as a whole: other threads are reading it.
        read_at, live, public = self._keys or (0.0, [], {})
        if not live or time.monotonic() - read_at >= KEYS_REMEMBERED_SECONDS:
            live = live_signing_keys(timezone.now())
            public = {key.kid: ECAlgorithm.from_jwk(key.public_jwk) for key in live}
            self._keys = (time.monotonic(), live, public)
        return live, public


key_ring = KeyRing()
