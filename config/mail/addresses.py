from functools import lru_cache

import idna
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext

LOCAL_PART_MAX = 64  # RFC 5321, section 4.5.3.1.1


# A request normalizes the same address several times, and addresses share a few domains.
@lru_cache(maxsize=1024)
def _ascii_domain(domain: str) -> str:
    """Return a domain in the ASCII form of IDNA 2008. Raises IDNAError or UnicodeError if it is invalid."""
    return idna.encode(domain, uts46=True).decode()


def normalize(email: str) -> str:
    """Return an email address in lower case. The domain is in the ASCII form of IDNA 2008.

    Raises Django's ValidationError for an invalid address, or for a domain without a dot.
    """
    local, _, domain = email.strip().lower().rpartition("@")
    try:
        domain, local_bytes = _ascii_domain(domain), len(local.encode())
    except (idna.IDNAError, UnicodeError) as error:
        raise ValidationError(gettext("Enter a valid email address.")) from error
    address = f"{local}@{domain}"
    if "." not in domain or local_bytes > LOCAL_PART_MAX or not local.isprintable():
        raise ValidationError(gettext("Enter a valid email address."))
    validate_email(address)
    return address


def comparable(email: str) -> str:
    """Return an email address for comparisons. Invalid addresses are only converted to lower case."""
    try:
        return normalize(email)
    except ValidationError:
        return email.strip().lower()


def mailable(email: str) -> str:
    """Return an email address with its domain in ASCII, as mail servers require. Invalid addresses are unchanged."""
    local, _, domain = email.rpartition("@")
    try:
        return f"{local}@{_ascii_domain(domain)}"
    except (idna.IDNAError, UnicodeError):
        return email
