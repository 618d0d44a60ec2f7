"""Making, replacing and deactivating offers, and who may do so."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from config.core.ids import parse_positive_int64
from config.webhooks.events import record_event
from credit.errors import OfferNotFound
from credit.models import Offer
from credit.providers import claim_provider


def read_offer_id(text: str) -> int:
    """Return the offer id that a path segment spells; raises OfferNotFound when it spells none."""
    number = parse_positive_int64(text)
    if number is None:
        raise OfferNotFound
    return number


def create_offer(*, owner: Any, terms: dict[str, Any], now: datetime) -> Offer:
    """Make an offer in version 1; raises ProviderTaken."""
    with transaction.atomic(savepoint=False):
        provider = claim_provider(terms["provider_id"], owner, now)
        offer = Offer.objects.create(owner=owner, provider=provider, created_at=now, updated_at=now, **_columns(terms))
        _record("created", offer, now)
    return offer


def replace_offer(offer_id: int, *, owner: Any, terms: dict[str, Any], now: datetime) -> Offer:
    """Replace every term and add 1 to the version; raises OfferNotFound for another's offer, ProviderTaken."""
    with transaction.atomic(savepoint=False):
        if not Offer.objects.filter(pk=offer_id, owner=owner).exists():
            raise OfferNotFound
        provider = claim_provider(terms["provider_id"], owner, now)
        # The version counts in the database, so two replacements at once are two versions.
        Offer.objects.filter(pk=offer_id).update(
            provider=provider, version=F("version") + 1, updated_at=now, **_columns(terms)
        )
        offer = Offer.objects.get(pk=offer_id)
        _record("updated", offer, now)
    return offer


def deactivate_offer(offer_id: int, *, owner: Any, now: datetime) -> None:
    """Close an offer to new applications; again is no error. Raises OfferNotFound for another's offer."""
    with transaction.atomic(savepoint=False):
        offer = Offer.objects.filter(pk=offer_id, owner=owner).first()
        if offer is None:
            raise OfferNotFound
        if Offer.objects.filter(pk=offer_id, is_active=True).update(is_active=False, updated_at=now):
            offer.is_active = False
            _record("deactivated", offer, now)


def _columns(terms: dict[str, Any]) -> dict[str, Any]:
    columns = {name: terms[name] for name in Offer.TERMS}
    columns["description"] = columns["description"] or ""
    return columns


def _record(verb: str, offer: Offer, now: datetime) -> None:
    record_event(
        f"offer.{verb}",
        account_id=offer.owner_id,
        now=now,
        offer_id=str(offer.pk),
        provider_id=offer.provider_id,
        version=offer.version,
        is_active=offer.is_active,
    )
