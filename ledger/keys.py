"""The signing keys of the log and of a witness: made once in development, taken from the environment in production."""

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
from ledger.cosignature import Cosigner

SEED_BYTES = 32
KEY_FILE_NAME = "ledger-signing-key"
WITNESS_KEY_FILE_NAME = "witness-signing-key"
_HOW_TO = (
    "set it to 32 random bytes in base64, for example the output of "
    "`python -c 'import base64, os; print(base64.b64encode(os.urandom(32)).decode())'`, and keep a copy: "
)
_OF_THE_LOG = f"{_HOW_TO}without it the log cannot go on."
_OF_A_WITNESS = f"{_HOW_TO}it is what others know this witness by."


def signer() -> Signer:
    """The log's name and key; ImproperlyConfigured, with what to set, when there is none to use."""
    place = Path(settings.VAR_DIR), settings.ENVIRONMENT == "production"
    return _load(settings.LEDGER_SIGNING_KEY, settings.LEDGER_ORIGIN, *place)


def is_here() -> bool:
    """Say whether this machine has a key to sign with; unlike `signer` this makes none."""
    return bool(settings.LEDGER_SIGNING_KEY) or (
        settings.ENVIRONMENT == "development" and (Path(settings.VAR_DIR) / KEY_FILE_NAME).exists()
    )


def cosigner(name: str, configured: str) -> Cosigner:
    """The witness's name and key; ImproperlyConfigured, with what to set, when there is none to use.

    `configured` is 32 bytes in base64, or empty for the key of this machine, which production has none of.
    """
    _check(name, "WITNESS_NAME", "a witness", "witness.example/w1")
    damaged = "put the backup back, or remove it and let everybody know the new key"
    seed = _seed("WITNESS_SIGNING_KEY", configured, _OF_A_WITNESS, WITNESS_KEY_FILE_NAME, damaged)
    return Cosigner(name, Ed25519PrivateKey.from_private_bytes(seed))


@lru_cache(maxsize=8)
def _load(configured: str, origin: str, _var_dir: Path, _production: bool) -> Signer:
    _check(origin, "LEDGER_ORIGIN", "a log", "ledger.example/log")
    together = "together with the ledger's tables and guard file"
    damaged = f"put the backup back. Only if this log is to be abandoned, remove it {together}"
    seed = _seed("LEDGER_SIGNING_KEY", configured, _OF_THE_LOG, KEY_FILE_NAME, damaged)
    return Signer(origin, Ed25519PrivateKey.from_private_bytes(seed))


def _check(name: str, variable: str, thing: str, example: str) -> None:
    try:
        check_name(name)
    except NoteError as error:
        raise ImproperlyConfigured(
            f"{variable}={name!r} cannot name {thing}: set it to a host and path such as {example}, without scheme, "
            "spaces or plus signs."
        ) from error


def _seed(variable: str, configured: str, how_to: str, file_name: str, damaged: str) -> bytes:
    if configured:
        return _decode(configured, f"{variable} is no Ed25519 key: {how_to}")
    if settings.ENVIRONMENT == "production":
        raise ImproperlyConfigured(f"{variable} is missing: {how_to}")
    path = Path(settings.VAR_DIR) / file_name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        keep_once(path, base64.b64encode(os.urandom(SEED_BYTES)).decode() + "\n")
    return _decode(path.read_text(), f"{path} holds no Ed25519 key: {damaged}.")


def _decode(text: str, message: str) -> bytes:
    try:
        seed = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ImproperlyConfigured(message) from error
    if len(seed) != SEED_BYTES:
        raise ImproperlyConfigured(message)
    return seed
