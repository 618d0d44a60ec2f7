"""Links that open an offer's form with answers from a partner.

A link is signed and not stored. Its content is encrypted, because browser histories and logs contain the link. A link
grants no rights, because the applicant can check and change the answers before they are stored. If the member who
created the link can no longer decide for the lender, the link becomes invalid.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core import signing

from config.core.encryption import key_ring
from config.core.errors import ValidationFailed
from config.core.ids import INT64_MAX, first_or
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor
from credit.core.due import OfferRequirements
from credit.core.errors import OfferNotFound, OfferUnavailable, ProviderTaken
from credit.core.profile import fault
from credit.models import Offer, ProviderMember
from credit.offers.providers import load_read, number_of, role_of

EXPIRES_IN_HOURS_MAX = 720
# The maximum size of a link's prefilled data as JSON. Servers and mail programs limit URLs to between 2,000 and 4,000
# characters.
PREFILL_MAX_BYTES = 1_500
_FIGURES = {name: {"type": "integer", "minimum": 0} for name in ("amount_cents", "term_months")}
_signer = signing.Signer(salt="credit.application-link")


class LinkEnded(Exception):
    """The link was altered or has expired, or the member who created it can no longer decide for the lender."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """The content of a link: an offer and answers. Every field of `applicants` is optional."""

    offer_id: int
    application_data: dict[str, Any]
    applicants: list[dict[str, Any]]
    created_by: int


def make_link(
    provider_id: str, *, actor: Actor, offer_id: int, prefill: dict[str, Any], expires_in_hours: int, now: datetime
) -> dict[str, Any]:
    """Create a link for an active offer of the lender. Return its `url` and `expires_at`.

    Raises the errors of `load_read`, OfferNotFound, and OfferUnavailable. Raises ProviderTaken if the actor can only
    read. Raises ValidationFailed for an answer without a field in the form, for an answer that the schema rejects, and
    for answers that are too long.
    """
    provider = load_read(provider_id, actor)
    if role_of(provider, actor.user) not in ProviderMember.DECIDING:
        raise ProviderTaken(f"This requires the lender's role {' or '.join(ProviderMember.DECIDING)}.")
    offer = first_or(Offer.objects.filter(pk=offer_id, provider=provider), OfferNotFound)
    if not offer.is_active or number_of(provider.pk) is None:
        raise OfferUnavailable
    members = OfferRequirements.by(offer.terms()).members
    for name, value in prefill["application_data"].items():
        if message := _fault(members, name, value):
            raise ValidationFailed.of_member("prefill.application_data", message)
    if len(canonical_json({name: answers for name, answers in prefill.items() if answers})) > PREFILL_MAX_BYTES:
        raise ValidationFailed.of_member("prefill", f"Must have at most {PREFILL_MAX_BYTES:,} bytes as JSON.")
    content = canonical_json({"offer_id": offer_id, "created_by": actor.user.pk, **prefill})
    expires_at = now + timedelta(hours=expires_in_hours)
    sealed = key_ring().encrypt(f"{int(expires_at.timestamp())} {content.decode()}".encode()).decode()
    return {"url": f"{settings.APP_URL}/my/apply/link/{_signer.sign(sealed)}", "expires_at": expires_at}


def _fault(members: Mapping[str, Any], name: str, value: Any) -> str | None:
    """Return an error message if an answer can't be prefilled, otherwise None."""
    fields = {**_FIGURES, **members}
    if name not in fields:
        return f"The offer's form has no field {name[:60]!r}. Its fields: {', '.join(fields)}."
    is_huge = isinstance(value, float) and abs(value) > INT64_MAX
    why = "Must be a number within 64 bits." if is_huge else fault(fields[name], value)
    return why and f"`{name}`: {why}"


def read_link(token: str, *, now: datetime) -> Prefill:
    """Return the content of a link. The link remains valid. Raises LinkEnded."""
    try:
        opened = key_ring().decrypt(_signer.unsign(token).encode()).decode()
    except (signing.BadSignature, InvalidToken) as error:
        raise LinkEnded from error
    expires_at, _, content = opened.partition(" ")
    if int(expires_at) <= now.timestamp():
        raise LinkEnded
    prefill = Prefill(**{"created_by": 0, **json.loads(content)})
    members = ProviderMember.objects.filter(user=prefill.created_by, user__is_active=True)
    if not members.filter(role__in=ProviderMember.DECIDING, provider__offers=prefill.offer_id).exists():
        raise LinkEnded
    return prefill
