"""Links that open the form of an offer with answers that a partner filled in.

A link is signed and in no table. Its content is encrypted, because browser histories and logs have its address. It
gives no rights: the answers are claims, which the applicant checks and changes before anything is stored.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core import signing

from config.core.encryption import key_ring
from config.core.errors import ValidationFailed
from config.core.json_text import canonical_json
from credit.core.due import OfferRequirements
from credit.core.errors import OfferNotFound, OfferUnavailable
from credit.models import Offer, Provider
from credit.offers.providers import number_of

EXPIRES_IN_HOURS_MAX = 720
PREFILL_MAX_BYTES = 1_500  # servers and mail programs limit an address to 2,000 to 4,000 characters
_FIGURES = ("amount_cents", "term_months")
_signer = signing.Signer(salt="credit.application-link")


class LinkEnded(Exception):
    """The link is altered or expired."""


@dataclass(frozen=True, slots=True)
class ApplicationLink:
    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Prefill:
    """The form that a link opens: `applicants` can lack every field."""

    offer_id: int
    application_data: dict[str, Any]
    applicants: list[dict[str, Any]]


def make_link(
    provider: Provider, *, offer_id: int, prefill: dict[str, Any], expires_in_hours: int, now: datetime
) -> ApplicationLink:
    """Return a link for an active offer of the provider.

    Raises OfferNotFound, OfferUnavailable, or ValidationFailed for answers that the offer's form has no field for, or
    that are too long.
    """
    offer = Offer.objects.filter(pk=offer_id, provider=provider).first()
    if offer is None:
        raise OfferNotFound
    if not offer.is_active or number_of(provider.pk) is None:
        raise OfferUnavailable
    allowed = dict.fromkeys((*_FIGURES, *OfferRequirements.by(offer.terms()).members))
    for name in prefill["application_data"]:
        if name not in allowed:
            message = f"The offer's form has no field {name[:60]!r}. Its fields: {', '.join(allowed)}."
            raise ValidationFailed.of_member("prefill.application_data", message)
    content = canonical_json({"offer_id": offer_id, **prefill})
    if len(content) > PREFILL_MAX_BYTES:
        raise ValidationFailed.of_member("prefill", f"Must have at most {PREFILL_MAX_BYTES:,} bytes as JSON.")
    expires_at = now + timedelta(hours=expires_in_hours)
    sealed = key_ring().encrypt(f"{int(expires_at.timestamp())} {content.decode()}".encode()).decode()
    return ApplicationLink(f"{settings.APP_URL}/my/apply/link/{_signer.sign(sealed)}", expires_at)


def read_link(token: str, *, now: datetime) -> Prefill:
    """Return the content of a link, without using it up. Raises LinkEnded."""
    try:
        opened = key_ring().decrypt(_signer.unsign(token).encode()).decode()
    except (signing.BadSignature, InvalidToken) as error:
        raise LinkEnded from error
    expires_at, _, content = opened.partition(" ")
    if int(expires_at) <= now.timestamp():
        raise LinkEnded
    return Prefill(**json.loads(content))
