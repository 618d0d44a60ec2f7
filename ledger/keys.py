"""The signing key of the log: made once in development, taken from the environment in production."""

from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.core.seeds import read_seed
from ledger.checkpoint import NoteError, Signer, check_name
from ledger.cosignature import Cosigner

KEY_FILE_NAME = "ledger-signing-key"
WITNESS_KEY_FILE_NAME = "witness-signing-key"


def signer() -> Signer:
    """The log's name and key; ImproperlyConfigured, with what to set, when there is none to use."""
    place = Path(settings.VAR_DIR), settings.PRODUCTION
    return _load(settings.LEDGER_SIGNING_KEY, settings.LEDGER_ORIGIN, *place)


def is_here() -> bool:
    """Return whether this machine has a key to sign with; unlike `signer` this makes none."""
    return bool(settings.LEDGER_SIGNING_KEY) or (
        not settings.PRODUCTION and (Path(settings.VAR_DIR) / KEY_FILE_NAME).exists()
    )


def cosigner(name: str, configured: str) -> Cosigner:
    """The witness's name and key; ImproperlyConfigured, with what to set, when there is none to use.

    `configured` is 32 bytes in base64, or empty for the key of this machine, which is made in development alone.
    """
    _check(name, "WITNESS_NAME", "a witness", "witness.example/w1")
    damaged = "put the backup back, or remove it and let everybody know the new key"
    seed = read_seed(
        "WITNESS_SIGNING_KEY",
        configured,
        without="it is what others know this witness by.",
        file_name=WITNESS_KEY_FILE_NAME,
        damaged=damaged,
    )
    return Cosigner(name, Ed25519PrivateKey.from_private_bytes(seed))


@lru_cache(maxsize=8)
def _load(configured: str, origin: str, _var_dir: Path, _production: bool) -> Signer:
    _check(origin, "LEDGER_ORIGIN", "a log", "ledger.example/log")
    together = "together with the ledger's tables and guard file"
    damaged = f"put the backup back. Only if this log is to be abandoned, remove it {together}"
    seed = read_seed(
        "LEDGER_SIGNING_KEY",
        configured,
        without="without it the log cannot go on.",
        file_name=KEY_FILE_NAME,
        damaged=damaged,
    )
    return Signer(origin, Ed25519PrivateKey.from_private_bytes(seed))


def _check(name: str, variable: str, thing: str, example: str) -> None:
    try:
        check_name(name)
    except NoteError as error:
        raise ImproperlyConfigured(
            f"{variable}={name!r} cannot name {thing}: set it to a host and path such as {example}, without scheme, "
            "spaces or plus signs."
        ) from error
