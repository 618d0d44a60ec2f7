"""The log's signing key. Production reads the key from the environment. Development creates the key once."""

from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.core.seeds import read_seed
from ledger.checkpoint import NoteError, Signer, check_name

KEY_FILE_NAME = "ledger-signing-key"


def signer() -> Signer:
    """Return the log's name and key. Raises ImproperlyConfigured for a missing or invalid key."""
    place = Path(settings.VAR_DIR), settings.PRODUCTION
    return _load(settings.LEDGER_SIGNING_KEY, settings.LEDGER_ORIGIN, *place)


def is_here() -> bool:
    """Check whether this machine has a signing key. Unlike `signer`, this does not create a key."""
    return bool(settings.LEDGER_SIGNING_KEY) or (
        not settings.PRODUCTION and (Path(settings.VAR_DIR) / KEY_FILE_NAME).exists()
    )


@lru_cache(maxsize=8)
def _load(configured: str, origin: str, _var_dir: Path, _production: bool) -> Signer:
    try:
        check_name(origin)
    except NoteError as error:
        raise ImproperlyConfigured(
            f"LEDGER_ORIGIN={origin!r} cannot name a log: set it to a host and path such as ledger.example/log, "
            "without scheme, spaces or plus signs."
        ) from error
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
