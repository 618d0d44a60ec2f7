from datetime import datetime
from typing import Any

from django.core import checks
from django.db import transaction
from django.db.models import F

from config.core.errors import ValidationFailed
from config.core.ids import first_or, parse_positive_int64
from config.core.lifecycle import Actor
from config.core.names import NameTaken, check_keys, name_key, save_named, unique_name
from config.webhooks.events import record_event
from credit.core.errors import AprAboveCap, OfferNotFound, ProviderTaken
from credit.core.eu_credit import REQUIRED_BY_REGIME, TITLES, follows_directive
from credit.core.examples import example_cost
from credit.models import Offer, Provider, ProviderMember
from credit.offers.providers import claim_provider, role_of
from identity.access.second_factor import require_lender_factor

ACTIVE_MAX = 1_000  # the list of a lender's active offers has no pages


def read_offer_id(text: str) -> int:
    """Parse an offer ID from a path segment. Raises OfferNotFound for an invalid ID."""
    number = parse_positive_int64(text)
    if number is None:
        raise OfferNotFound
    return number


def load_offer(text: str) -> Offer:
    return first_or(Offer.objects.filter(pk=read_offer_id(text)), OfferNotFound)


def create_offer(*, actor: Actor, terms: dict[str, Any], now: datetime) -> Offer:
    """Create an offer with version 1.

    Raises SecondFactorRequired, ProviderTaken, and AprAboveCap. Raises ValidationFailed if the lender already has
    ACTIVE_MAX active offers, or lacks fields that the jurisdiction requires. Also raises ValidationFailed if the lender
    has an active offer with a similar name.
    """
    with transaction.atomic(savepoint=False):
        provider = claim_provider(terms["provider_id"], actor, now, roles=(ProviderMember.OWNER,))
        _check_active_limit(provider)
        _check_jurisdiction(provider, terms, now=now)
        offer = Offer(owner=actor.user, provider=provider, created_at=now, updated_at=now, **_columns(terms))
        try:
            save_named(offer, scope=provider.pk)
        except NameTaken as error:
            raise _name_refusal() from error
        _record("created", offer, now)
    return offer


def replace_offer(offer_id: int, *, actor: Actor, terms: dict[str, Any], now: datetime) -> Offer:
    """Replace all terms of an offer, and increment its version.

    Raises SecondFactorRequired, ProviderTaken, and AprAboveCap. Raises OfferNotFound for another account's offer.
    Raises ValidationFailed in these cases:

    - The lender lacks fields that the jurisdiction requires.
    - Another active offer of the lender has a similar name.
    - The offer is active and moves to a lender that already has ACTIVE_MAX active offers.
    """
    with transaction.atomic(savepoint=False):
        before = first_or(
            Offer.objects.filter(pk=offer_id, owner=actor.user).only("provider_id", "is_active", "name", "name_key"),
            OfferNotFound,
        )
        provider = claim_provider(terms["provider_id"], actor, now, roles=(ProviderMember.OWNER,))
        if before.is_active and before.provider_id != provider.pk:
            _check_active_limit(provider)
        _check_jurisdiction(provider, terms, now=now)
        is_renamed = (before.provider_id, before.name) != (provider.pk, terms["name"])
        key = name_key(terms["name"], provider.pk) if is_renamed and before.is_active else before.name_key
        try:
            with unique_name(Offer.objects.exclude(pk=offer_id), key):
                # The database increments the version, so concurrent replacements create separate versions.
                Offer.objects.filter(pk=offer_id).update(
                    provider=provider,
                    version=F("version") + 1,
                    updated_at=now,
                    name_key=key,
                    search_words=Offer.words_in(provider.pk, terms),
                    **_columns(terms),
                )
        except NameTaken as error:
            raise _name_refusal() from error
        offer = Offer.objects.get(pk=offer_id)
        _record("updated", offer, now)
    return offer


def deactivate_offer(offer_id: int, *, actor: Actor, now: datetime) -> None:
    """Close an offer to new applications. Idempotent.

    Raises SecondFactorRequired. Raises OfferNotFound for another account's offer. Raises ProviderTaken if the creator
    of the offer now has a lower role at the lender than `owner`.
    """
    require_lender_factor(actor)
    with transaction.atomic(savepoint=False):
        offer = first_or(Offer.objects.filter(pk=offer_id, owner=actor.user).select_related("provider"), OfferNotFound)
        if role_of(offer.provider, actor.user) not in {None, ProviderMember.OWNER}:
            raise ProviderTaken
        if Offer.objects.filter(pk=offer_id, is_active=True).update(is_active=False, name_key=None, updated_at=now):
            offer.is_active = False
            _record("deactivated", offer, now)


def _name_refusal() -> ValidationFailed:
    return ValidationFailed.of_member(
        "name", "Must not look like the name of another active offer of this lender. Choose another name."
    )


def check_offer_names(**_options: Any) -> list[checks.CheckMessage]:
    """Report active offers whose names resemble another offer of the lender. Version 1.0 accepted similar names."""
    return check_keys(Offer.objects.filter(is_active=True))


def _check_active_limit(provider: Provider) -> None:
    """Raise ValidationFailed if the lender already has ACTIVE_MAX active offers.

    The lender is locked until the end of the transaction, so that concurrent requests can't exceed the limit.
    """
    Provider.objects.select_for_update().only("pk").get(pk=provider.pk)
    if Offer.objects.filter(provider=provider, is_active=True).count() >= ACTIVE_MAX:
        message = f"A lender has at most {ACTIVE_MAX} active offers. Deactivate an offer first."
        raise ValidationFailed.of_member("provider_id", message)


def _check_jurisdiction(provider: Provider, terms: dict[str, Any], *, now: datetime) -> None:
    """Check the terms against the rules of the jurisdiction.

    Raises ValidationFailed if the lender lacks required fields, and AprAboveCap for a rate above the cap.
    """
    if follows_directive(terms) and (lacks := provider.lacks_for_eu_credit):
        details = [{"field": f"provider.{name}", "message": REQUIRED_BY_REGIME} for name in lacks]
        named = ", ".join(f"{TITLES[name]} (`{name}`)" for name in lacks)
        message = f"The lender lacks its {named}. Set it with `PUT /v1/providers/{provider.pk}`."
        raise ValidationFailed(message, details=details)
    # Compute the rate even without a cap, because an example without a computable rate would break every list.
    rate = example_cost(terms, today=now.date())["apr_percent"] if terms["example"] is not None else None
    if (cap := terms["apr_cap"]) is None:
        return
    highest = terms["apr_max_percent"] or terms["apr_min_percent"]
    if highest is not None and highest > cap:
        raise AprAboveCap(f"`apr_max_percent` must not be above `apr_cap`: {cap}%.")
    if rate is not None and rate > cap:
        raise AprAboveCap(f"The annual percentage rate of the example is {rate}%, above `apr_cap`: {cap}%.")


def _columns(terms: dict[str, Any]) -> dict[str, Any]:
    columns = {name: terms[name] for name in Offer.TERMS}
    columns["description"] = columns["description"] or ""
    return columns


def _record(verb: str, offer: Offer, now: datetime) -> None:
    about = {"provider_id": offer.provider_id, "version": offer.version, "is_active": offer.is_active}
    record_event(f"offer.{verb}", account_id=offer.owner_id, now=now, offer_id=str(offer.pk), **about)
