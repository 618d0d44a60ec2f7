"""The keys that sign and verify access tokens: creation, rotation, and look-up.

A new key starts to sign PUBLISHED_AHEAD_SECONDS after its publication. By then, every process has read the keys again
(KEYS_REMEMBERED_SECONDS), and every cached key set has expired (JWKS_MAX_AGE_SECONDS). The remaining time is a margin
for clock differences. The very first key signs immediately, because an empty list of keys is never cached.
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
# The sum of this time and `authentication.REMEMBERED_SECONDS` is 5 s, within which a revocation takes effect.
KEYS_REMEMBERED_SECONDS = 2.0

# The key set contains only these fields of a key.
PUBLIC_MEMBERS = ("kty", "crv", "x", "y", "kid", "use", "alg")

# A process that creates a key acquires this PostgreSQL advisory lock ("jwks" in ASCII).
_ADVISORY_LOCK = int.from_bytes(b"jwks", "big")


def live_signing_keys(now: datetime) -> list[SigningKey]:
    """Return the keys that verify tokens, newest first, including keys that don't sign yet."""
    return [key for key in SigningKey.objects.all() if key.retires_at is None or key.retires_at > now]


def public_keys(now: datetime) -> list[dict[str, str]]:
    """Return the public keys that verify tokens, as JSON Web Keys. Creates the first key if none exists."""
    key_ring.signing()
    return [{name: key.public_jwk[name] for name in PUBLIC_MEMBERS} for key in live_signing_keys(now)]


def key_that_signs(live: list[SigningKey], now: datetime) -> SigningKey | None:
    """Return the newest key that may sign, preferably a key that is not replaced."""

    def order(key: SigningKey) -> tuple[bool, datetime]:
        return key.retires_at is None, key.signs_from

    due = [key for key in live if key.signs_from <= now]
    # If the clock was set back before all `signs_from` times, return the key that was published first.
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
    """Publish a new key; return the key, and the ids of the replaced keys.

    Replaced keys verify tokens for `overlap`, and at least until the new key signs.
    """
    with _creation_lock():
        live = live_signing_keys(now)
        signs_from = now + timedelta(seconds=PUBLISHED_AHEAD_SECONDS if live else 0)
        replaced = [key.kid for key in live if key.retires_at is None]
        SigningKey.objects.filter(kid__in=replaced).update(retires_at=max(now + overlap, signs_from))
        fresh = create_signing_key(now=now, signs_from=signs_from)
    key_ring.forget()
    return fresh, replaced


@contextmanager
def _creation_lock() -> Iterator[None]:
    """Run the block in a transaction while no other process creates a key."""
    with transaction.atomic():
        if connection.vendor == "postgresql":  # SQLite has one writer at a time, and needs no lock
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
        yield


def _private_key_of(key: SigningKey) -> Any:
    """Decrypt the private key. Raises UnreadableSecret if no encryption key decrypts it."""
    return serialization.load_pem_private_key(key.private_key.encode(), password=None)


class KeyRing:
    """The signing keys of the database, cached for KEYS_REMEMBERED_SECONDS."""

    def __init__(self) -> None:
        self._keys: tuple[float, list[SigningKey], dict[str, Any]] | None = None

    def forget(self) -> None:
        self._keys = None

    def signing(self) -> tuple[str, Any]:
        """Return `(kid, private key)` of the key that signs now. Creates the first key if none exists."""
        (known, _), now = self._read(), timezone.now()
        live = list(known)
        while (key := key_that_signs(live, now)) is not None:
            try:
                return key.kid, _private_key_of(key)
            except UnreadableSecret:
                live.remove(key)  # the public key still verifies tokens
        key = self._create_first(now, unreadable=known)
        return key.kid, _private_key_of(key)

    def verifying(self, kid: str) -> Any:
        return self._read()[1].get(kid)

    def _create_first(self, now: datetime, *, unreadable: list[SigningKey]) -> SigningKey:
        """Return a key that signs. Creates the key if no other process has just created a key."""
        with _creation_lock():
            live = [key for key in live_signing_keys(now) if key not in unreadable]
            key = key_that_signs(live, now) or create_signing_key(now=now, signs_from=now)
        self.forget()
        return key

    def _read(self) -> tuple[list[SigningKey], dict[str, Any]]:
        # Other threads read the cache concurrently, so a single assignment replaces the cache.
        read_at, live, public = self._keys or (0.0, [], {})
        if not live or time.monotonic() - read_at >= KEYS_REMEMBERED_SECONDS:
            live = live_signing_keys(timezone.now())
            public = {key.kid: ECAlgorithm.from_jwk(key.public_jwk) for key in live}
            self._keys = (time.monotonic(), live, public)
        return live, public


key_ring = KeyRing()
