"""The log's signing key: made once in development, taken from the environment in production."""

import base64
import binascii
import os
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.env import keep_once
from ledger.checkpoint import NoteError, Signer, check_name

SEED_BYTES = 32
KEY_FILE_NAME = "ledger-signing-key"
_HOW_TO = (
    "set it to 32 random bytes in base64, for example the output of "
    "`python -c 'import base64, os; print(base64.b64encode(os.urandom(32)).decode())'`, and keep a copy: "
    "without it the log cannot go on."
)


def signer() -> Signer:
    """The log's name and key; ImproperlyConfigured, with what to set, when there is none to use."""
    return _load(
        settings.LEDGER_SIGNING_KEY,
        settings.LEDGER_ORIGIN,
        Path(settings.VAR_DIR),
        settings.ENVIRONMENT == "production",
    )


def is_here() -> bool:
    """Say whether this machine has a key to sign with; unlike `signer` this makes none."""
    return bool(settings.LEDGER_SIGNING_KEY) or (
        settings.ENVIRONMENT == "development" and (Path(settings.VAR_DIR) / KEY_FILE_NAME).exists()
    )


@lru_cache(maxsize=8)
def _load(configured: str, origin: str, var_dir: Path, production: bool) -> Signer:
    try:
        check_name(origin)
    except NoteError as error:
        raise ImproperlyConfigured(
            f"LEDGER_ORIGIN={origin!r} cannot name a log: set it to a host and path such as "
            "ledger.example/log, without scheme, spaces or plus signs."
        ) from error
    if configured:
        seed = _decode(configured, f"LEDGER_SIGNING_KEY is no Ed25519 key: {_HOW_TO}")
    elif production:
        raise ImproperlyConfigured(f"LEDGER_SIGNING_KEY is missing: {_HOW_TO}")
    else:
        seed = _development_seed(var_dir / KEY_FILE_NAME)
    return Signer(origin, Ed25519PrivateKey.from_private_bytes(seed))


def _decode(text: str, message: str) -> bytes:
    try:
        seed = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ImproperlyConfigured(message) from error
    if len(seed) != SEED_BYTES:
        raise ImproperlyConfigured(message)
    return seed


def _development_seed(path: Path) -> bytes:
    """Read this machine's key, or make it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        keep_once(path, base64.b64encode(os.urandom(SEED_BYTES)).decode() + "\n")
    return _decode(
        path.read_text(),
        f"{path} holds no Ed25519 key: put the backup back. Only if this log is to be abandoned, remove it "
        "together with the ledger's tables and guard file.",
    )
