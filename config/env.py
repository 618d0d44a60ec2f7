"""Read and validate environment variables.

An invalid value stops the process. The error contains the name of the variable.
"""

import json
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_DEFAULT_VAR_DIR = Path(__file__).resolve().parent.parent / "var"
# PostgreSQL's maximum timeout in seconds is also the maximum of all variables in seconds.
INTEGER_MAX = 2_147_483
SECRET_KEY_MINIMUM_LENGTH = 50  # from Django's deployment check


_read: set[str] = set()  # the names of settings that this process has read
_SPELLING_LENGTH_MIN = 8  # shorter names such as HOME and HOST are similar by chance


def text(name: str, default: str = "") -> str:
    _read.add(name)
    return os.environ.get(name, "").strip() or default


def misspelt() -> list[str]:
    """Return an error for the first unknown variable whose name is similar to a setting's name."""
    return [
        f"{name} is not a setting. Did you mean {near}?"
        for name in sorted(os.environ.keys() - _read)
        if len(name) >= _SPELLING_LENGTH_MIN
        for near in sorted(_read)
        if len(near) >= _SPELLING_LENGTH_MIN and _is_near(name, near)
    ][:1]


def _is_near(name: str, other: str) -> bool:
    """Return whether the Levenshtein distance between two names is at most 2."""
    if abs(len(name) - len(other)) > 2:
        return False
    above = list(range(len(other) + 1))
    for row, left in enumerate(name, 1):
        line = [row]
        for column, right in enumerate(other, 1):
            line.append(min(above[column] + 1, line[-1] + 1, above[column - 1] + (left != right)))
        above = line
    return above[-1] <= 2


def var_dir() -> Path:
    return Path(text("VAR_DIR", str(_DEFAULT_VAR_DIR)))


def make_var_dir(folder: Path) -> None:
    """Create VAR_DIR for its owner only.

    If the folder exists and is not the default folder, its mode stays unchanged.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder == _DEFAULT_VAR_DIR:
        close_to_others(folder)


def close_to_others(path: Path) -> None:
    """Restrict access to a file or folder to its owner. Ignores absent files, and files of other owners."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)


def keep_once(path: Path, content: str) -> None:
    """Write a file for its owner only. Never replaces an existing file, even in a race."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(content)
    try:
        # A hard link is atomic, and does not replace an existing file.
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


ADAPTER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def adapter(name: str, default: str, built_in: Iterable[str]) -> str:
    """Return the name of a built-in vendor, or the class of an adapter in the form `package.module:Class`."""
    value = text(name, default)
    if value not in built_in and not ADAPTER.fullmatch(value):
        known = ", ".join(built_in)
        raise ImproperlyConfigured(f"{name}={value!r} is not known: set it to {known}, or package.module:Class.")
    return value


def flag(name: str, *, default: bool = False) -> bool:
    """Return a Boolean variable. Accepts 1/0, true/false, yes/no, and on/off."""
    value = text(name, str(default)).lower()
    if value not in _TRUE | _FALSE:
        raise ImproperlyConfigured(f"{name}={os.environ[name]!r} is neither yes nor no: set it to 1 or 0.")
    return value in _TRUE


def file(name: str, expected: str) -> str:
    """Return the path of an existing file, or an empty string if the variable is unset."""
    path = text(name)
    if path and not Path(path).is_file():
        raise ImproperlyConfigured(f"{name}={path!r} must be a file: set it to {expected}.")
    return path


def folder(name: str) -> str:
    """Return the path of an existing folder, or an empty string if the variable is unset."""
    path = text(name)
    if path and not Path(path).is_dir():
        raise ImproperlyConfigured(f"{name}={path!r} must be a folder.")
    return path


def integer(name: str, default: int, *, minimum: int = 0, maximum: int = INTEGER_MAX) -> int:
    raw = text(name, str(default))
    if re.fullmatch("[0-9]{1,18}", raw) is None or not minimum <= int(raw) <= maximum:
        raise ImproperlyConfigured(
            f"{name}={raw!r} must be a whole number of at least {minimum} and at most {maximum}."
        )
    return int(raw)


def listing(name: str) -> list[str]:
    return [member.strip() for member in text(name).split(",") if member.strip()]


def host_names(members: Iterable[str]) -> list[str]:
    """Return host names in the format of `Host` headers, with IPv6 addresses in brackets.

    Raises ImproperlyConfigured for a URL or a port, which would never match.
    """
    names = []
    for member in members:
        try:
            names.append(f"[{IPv6Address(member)}]")
        except ValueError:
            names.append(member)
    check(
        "ALLOWED_HOSTS",
        names,
        r"\*|\.?[\w-]+(\.[\w-]+)*|\[[0-9a-fA-F:]+\]",
        "host names without a scheme and a port, joined by commas",
    )
    return names


def own_host(name: str, default: str) -> str:
    """Return the host on which a service listens, without brackets for IPv6."""
    return text(name, default).removeprefix("[").removesuffix("]")


def base_address(name: str, default: str, *, path: str = "", https_only: bool = False) -> str:
    """Return an http(s) URL with the path `path`, and without a trailing slash."""
    value = text(name, default).rstrip("/")
    parts = _split(value, ("http", "https"))
    if parts is None or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name}={value!r} is not a URL such as https://api.example{path}.")
    if parts.path != path:
        raise ImproperlyConfigured(f"{name}={value!r} must end in {path or 'the host, without a path'!r}.")
    if https_only and parts.scheme != "https":
        raise ImproperlyConfigured(f"{name}={value!r} must begin with https:// in production.")
    return value


def _split(value: str, schemes: Collection[str]) -> SplitResult | None:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in schemes and (parts.hostname or parts.scheme == "unix") and parts.port != 0
    except ValueError:  # the port is not a number, or a bracket is missing
        return None
    return parts if usable else None


def secret_address(name: str, example: str, schemes: Collection[str]) -> str:
    """Return a URL with any path, or "" if unset. Errors exclude the URL, which may contain a password."""
    value = text(name)
    if value and _split(value, schemes) is None:
        raise ImproperlyConfigured(f"{name} is not a URL such as {example}.")
    return value


def https_url(name: str) -> str:
    """Return an https URL with any path, or "" if unset."""
    value = text(name)
    if value and _split(value, ("https",)) is None:
        raise ImproperlyConfigured(f"{name}={value!r} is not a URL such as https://www.example/page.")
    return value


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address in a text, or None. An IPv4-mapped address such as ::ffff:192.0.2.1 is returned as IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


class Networks:
    """A set of IP addresses and networks. `text in networks` is true for an address in any of the networks.

    A socket that serves both protocols reports an IPv4 address as ::ffff:192.0.2.1.
    """

    def __init__(self, networks: Iterable[IPv4Network | IPv6Network]) -> None:
        self._networks = tuple(networks)

    def __contains__(self, text: object) -> bool:
        address = address_of(str(text))
        return address is not None and any(address in network for network in self._networks)


def _unmapped(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    """Convert a network such as ::ffff:10.0.0.0/104 to IPv4, because `Networks` converts addresses to IPv4."""
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    return network if mapped is None or network.prefixlen < 96 else IPv4Network((mapped, network.prefixlen - 96))


def ip_networks(name: str) -> Networks:
    """Return the IP addresses and networks, such as 10.0.0.0/8, of a comma-separated variable."""
    networks = []
    for member in listing(name):
        try:
            networks.append(_unmapped(ip_network(member)))
        except ValueError as error:
            text = f"{name} contains {member!r}. List only IP addresses and networks such as 10.0.0.0/8."
            raise ImproperlyConfigured(text) from error
        if not networks[-1].prefixlen:
            raise ImproperlyConfigured(f"{name} contains {member!r}, which includes every address. List your proxies.")
    return Networks(networks)


def check(name: str, values: Iterable[str], pattern: str, expected: str) -> None:
    """Raise ImproperlyConfigured if a value doesn't match. The error excludes the value, which may be secret."""
    if not all(re.fullmatch(pattern, value) for value in values):
        raise ImproperlyConfigured(f"{name} must be {expected}.")


def require(names: Iterable[str], *, because: str) -> None:
    """Raise ImproperlyConfigured for the first variable in `names` that is unset."""
    for name in names:
        if not text(name):
            raise ImproperlyConfigured(f"{name} is missing, but {because} requires it.")


# External vendors process real money, bank data, and identities, so a sandbox must not use them.
_CHOSEN_PROVIDERS = ("CARD_PROCESSOR", "CUSTODY", "OPEN_BANKING", "REPORTS")
_PROVIDER_CREDENTIALS = (
    "STRIPE_SECRET_KEY",
    "STRIPE_WEBHOOK_SECRET",
    "CIRCLE_API_KEY",
    "CIRCLE_ENTITY_SECRET",
    "CIRCLE_WALLET_SET_ID",
    "SETTLEMENT_RPC_URL",
    "PLAID_CLIENT_ID",
    "PLAID_SECRET",
)


def refuse_providers() -> None:
    """Raise ImproperlyConfigured if an external vendor is selected, or a vendor's credential is set."""
    named = [name for name in _CHOSEN_PROVIDERS if text(name, "sandbox") not in ("sandbox", "off")]
    named += [name for name in _PROVIDER_CREDENTIALS if text(name)]
    if named:
        subject = f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} set"
        raise ImproperlyConfigured(
            f"{subject}: ENVIRONMENT=sandbox supports only built-in vendors. Unset these variables."
        )


def application_secrets(var_dir: Path, *, production: bool, service: str) -> tuple[str, list[str]]:
    """Return `(SECRET_KEY, FIELD_ENCRYPTION_KEYS)`.

    In production, the environment must contain the keys, and weak keys are rejected. In development, the keys are
    created once and stored in `development-secrets.json` in `var_dir`, which only its owner can read.

    In production, the ledger requires no keys, because it has no sessions and no encrypted columns.
    """
    secret_key, field_keys = text("SECRET_KEY"), listing("FIELD_ENCRYPTION_KEYS")
    if production and service == "ledger" and not secret_key:
        secret_key = secrets.token_urlsafe(64)
    elif production:
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
                "FIELD_ENCRYPTION_KEYS contains an invalid Fernet key: use 32 bytes in URL-safe base64."
            ) from error
    return secret_key, field_keys


def _development_secrets(var_dir: Path) -> dict[str, str]:
    path = var_dir / "development-secrets.json"
    try:
        make_var_dir(var_dir)
        if not path.exists():
            fresh = {"secret_key": secrets.token_urlsafe(64), "field_encryption_key": Fernet.generate_key().decode()}
            keep_once(path, json.dumps(fresh))
        loaded = json.loads(path.read_text())
        return {name: str(loaded[name]) for name in ("secret_key", "field_encryption_key")}
    except OSError as error:
        raise ImproperlyConfigured(f"VAR_DIR={str(var_dir)!r} cannot be written to: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ImproperlyConfigured(
            f"{path} is damaged. It contains the keys of this machine's data. Restore it, or delete it with the data."
        ) from error
