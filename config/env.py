"""Reading the process environment, loudly: a bad value stops the process with a sentence that says what to set."""

import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_DEFAULT_VAR_DIR = Path(__file__).resolve().parent.parent / "var"
# Seconds are the largest unit that variables have, and PostgreSQL takes no longer timeout.
INTEGER_MAX = 2_147_483
SECRET_KEY_MINIMUM_LENGTH = 50  # what Django's own deployment check asks for


def text(name: str, default: str = "") -> str:
    """Return the variable, or `default` when it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def var_dir() -> Path:
    """Return the folder in which this machine's processes keep what is theirs (`VAR_DIR`)."""
    return Path(text("VAR_DIR", str(_DEFAULT_VAR_DIR)))


def make_var_dir(folder: Path) -> None:
    """Make VAR_DIR, for its owner alone.

    One that is there keeps its mode, because it may serve others too; not so the default, which is ours.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder == _DEFAULT_VAR_DIR:
        close_to_others(folder)


def close_to_others(path: Path) -> None:
    """Take every right to a file or folder from all but its owner; nothing happens to what is absent or not ours."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)


def keep_once(path: Path, content: str) -> None:
    """Write a file that its owner alone may read, unless it is there: of two processes that start together one wins."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(content)
    try:
        # A hard link appears whole or not at all, and never replaces what is used already.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def choice(name: str, default: str, allowed: Iterable[str]) -> str:
    value = text(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} is not known: set it to one of {', '.join(allowed)}.")
    return value


def flag(name: str, *, default: bool = False) -> bool:
    """Return a yes/no variable; accepts 1/0, true/false, yes/no, on/off."""
    value = text(name, str(default)).lower()
    if value not in _TRUE | _FALSE:
        raise ImproperlyConfigured(f"{name}={os.environ[name]!r} is neither yes nor no: set it to 1 or 0.")
    return value in _TRUE


def integer(name: str, default: int, *, minimum: int = 0, maximum: int = INTEGER_MAX) -> int:
    """Return a whole number from `minimum` to `maximum`."""
    raw = text(name, str(default))
    if re.fullmatch("[0-9]{1,18}", raw) is None or not minimum <= int(raw) <= maximum:
        raise ImproperlyConfigured(
            f"{name}={raw!r} must be a whole number of at least {minimum} and at most {maximum}."
        )
    return int(raw)


def listing(name: str) -> list[str]:
    """Return the members of a comma-separated variable, without blanks."""
    return [member.strip() for member in text(name).split(",") if member.strip()]


def base_address(name: str, default: str, *, path: str = "", https_only: bool = False) -> str:
    """Return an http(s) address without a trailing slash whose path is exactly `path`."""
    value = text(name, default).rstrip("/")
    parts = _split(value)
    if parts is None or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name}={value!r} is not an address such as https://api.example{path}.")
    if parts.path != path:
        raise ImproperlyConfigured(f"{name}={value!r} must end in {path or 'the host, without a path'!r}.")
    if https_only and parts.scheme != "https":
        raise ImproperlyConfigured(f"{name}={value!r} must begin with https:// in production.")
    return value


def _split(value: str) -> SplitResult | None:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that does not close
        return None
    return parts if usable else None


def redis_address(name: str) -> str:
    """Return a Redis address, or the empty text when unset. The value is not repeated: it may hold a password."""
    value = text(name)
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"redis", "rediss", "unix"} and (parts.hostname or parts.path) and parts.port != 0
    except ValueError:
        usable = False
    if value and not usable:
        raise ImproperlyConfigured(f"{name} is not an address such as redis://127.0.0.1:6379/0.")
    return value


def is_hex(value: str, *, digits: int) -> bool:
    return re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", value) is not None


def node_address(name: str) -> str:
    """Return an http(s) address with any path (nodes keep their access key in it), or the empty text when unset."""
    value = text(name)
    if value and _split(value) is None:
        # The value is not repeated: it may hold an access key.
        raise ImproperlyConfigured(f"{name} is not an address such as https://node.example/key.")
    return value


def chain_network(name: str, default: str, aliases: Mapping[str, str]) -> str:
    """Return an EVM network as CAIP-2 (`eip155:8453`), given so or by an alias."""
    value = text(name, default)
    network = aliases.get(value.lower(), value)
    if not re.fullmatch(r"eip155:[1-9][0-9]{0,17}", network):
        raise ImproperlyConfigured(
            f"{name}={value!r} is no EVM network: set it to eip155:<chain id> or one of {', '.join(aliases)}."
        )
    return network


def contract_address(name: str) -> str:
    """Return the address of a contract (0x and 40 hex digits, EIP-55 when in mixed case), or the empty text."""
    value = text(name)
    if value and not re.fullmatch(r"0x[0-9a-fA-F]{40}", value):
        raise ImproperlyConfigured(f"{name}={value!r} is no address: set it to 0x and 40 hex digits.")
    if value[2:] not in {value[2:].lower(), value[2:].upper()}:
        from eth_utils.address import is_checksum_address

        if not is_checksum_address(value):
            raise ImproperlyConfigured(f"{name}={value!r} is mistyped: its EIP-55 checksum does not fit.")
    return value


def plaid_access(*, needed: bool, production: bool) -> tuple[str, str, str]:
    """Return (PLAID_BASE_URL, PLAID_CLIENT_ID, PLAID_SECRET); without all three Plaid cannot be the provider.

    Production speaks HTTPS to it, because the secret goes out with every request; only a stand-in on the same machine
    may do without.
    """
    for name in ("PLAID_BASE_URL", "PLAID_CLIENT_ID", "PLAID_SECRET"):
        if needed and not text(name):
            raise ImproperlyConfigured(f"{name} is missing: OPEN_BANKING=plaid needs it. Plaid's dashboard shows it.")
    base_url = base_address("PLAID_BASE_URL", "https://sandbox.plaid.com")
    parts = urlsplit(base_url)
    if needed and production and parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
        raise ImproperlyConfigured(f"PLAID_BASE_URL={base_url!r} must begin with https:// in production.")
    return base_url, text("PLAID_CLIENT_ID"), text("PLAID_SECRET")


def country_codes(name: str, default: str) -> list[str]:
    """Return the ISO 3166-1 codes of a comma-separated variable."""
    codes = listing(name) or [default]
    if not all(len(code) == 2 and code.isascii() and code.isalpha() and code.isupper() for code in codes):
        raise ImproperlyConfigured(f"{name}={','.join(codes)!r} must be codes such as US or US,CA.")
    return codes


def application_secrets(var_dir: Path, *, production: bool) -> tuple[str, list[str]]:
    """Return (SECRET_KEY, FIELD_ENCRYPTION_KEYS).

    Production takes both from the environment and refuses weak ones. Development makes them once, in
    `development-secrets.json` in `var_dir`, readable by the owner alone.
    """
    secret_key, field_keys = text("SECRET_KEY"), listing("FIELD_ENCRYPTION_KEYS")
    if production:
        if len(secret_key) < SECRET_KEY_MINIMUM_LENGTH or len(set(secret_key)) < 8:
            raise ImproperlyConfigured(
                f"SECRET_KEY is missing or weak: set it to at least {SECRET_KEY_MINIMUM_LENGTH} random characters."
            )
        if not field_keys:
            raise ImproperlyConfigured(
                "FIELD_ENCRYPTION_KEYS is missing: set it to one or more Fernet keys, newest first, joined by commas."
            )
    else:
        stored = _development_secrets(var_dir)
        secret_key = secret_key or stored["secret_key"]
        field_keys = field_keys or [stored["field_encryption_key"]]
    for key in field_keys:
        try:
            Fernet(key)
        except ValueError as error:
            raise ImproperlyConfigured(
                "FIELD_ENCRYPTION_KEYS holds a value that is no Fernet key (32 bytes in URL-safe base64)."
            ) from error
    return secret_key, field_keys


def _development_secrets(var_dir: Path) -> dict[str, str]:
    path = var_dir / "development-secrets.json"
    try:
        make_var_dir(var_dir)
        return _read_or_make_secrets(path)
    except OSError as error:
        raise ImproperlyConfigured(f"VAR_DIR={str(var_dir)!r} cannot be written to: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ImproperlyConfigured(
            f"{path} is damaged. It holds the keys of this machine's data: restore it, or delete it with the data."
        ) from error


def _read_or_make_secrets(path: Path) -> dict[str, str]:
    """Read the secrets, making them first when there are none; raises OSError, ValueError, KeyError or TypeError."""
    if not path.exists():
        fresh = {"secret_key": secrets.token_urlsafe(64), "field_encryption_key": Fernet.generate_key().decode()}
        keep_once(path, json.dumps(fresh))
    loaded = json.loads(path.read_text())
    return {name: str(loaded[name]) for name in ("secret_key", "field_encryption_key")}
