"""Timeline entries from other apps: identity checks, bank links, webhook deliveries, and ledger records.

Each kind of entry costs a query that uses an index by account.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from config.backoffice.html import details, grid, spelled, words
from config.backoffice.people import person_name
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry, about_person, claimed_name
from config.webhooks.models import Delivery
from credit.core.due import OfferRequirements
from credit.core.figures import money
from credit.core.profile import title_of
from credit.models import Application, ApplicationRevision, DecisionAnchor
from identity.bank.models import BankItem
from identity.kyc.models import KycVerification

_APPLICANT_MEMBER = re.compile(r"applicants\[(\d+)\]\.(.+)")


def deliveries(application: Application) -> list[TimelineEntry]:
    own_deliveries = Delivery.objects.filter(account_id=application.consumer_id, created_at__gte=application.created_at)
    application_deliveries = own_deliveries.filter(event_type__startswith="application.").select_related("event")
    return [
        TimelineEntry(
            at=delivery.created_at,
            title=f"Webhook {delivery.event_type}",
            status=delivery.status,
            id=str(delivery.pk),
            facts=(("attempts", str(len(delivery.attempts))),),
        )
        for delivery in application_deliveries.order_by("-id")[:ENTRIES_MAX]
        if (delivery.event.object or {}).get("application_id") == str(application.pk)
    ]


def anchor_entries(anchor: DecisionAnchor | None, what: str) -> Iterable[TimelineEntry]:
    """If a record is anchored, yield its entry."""
    if anchor is not None and anchor.anchored_at is not None:
        yield TimelineEntry(
            at=anchor.anchored_at,
            title=f"{what} anchored in the ledger",
            facts=(("block", str(anchor.block_number)), ("record SHA-256", anchor.record_sha256)),
        )


def entries_around(application: Application) -> Iterator[TimelineEntry]:
    checks = KycVerification.objects.filter(user_id=application.consumer_id).order_by("-id")
    for verification in checks[:ENTRIES_MAX]:
        yield TimelineEntry(
            at=verification.completed_at or verification.created_at,
            title=f"Identity verification, attempt {verification.attempt}",
            status=verification.status,
            id=str(verification.pk),
            facts=(("at", verification.provider),),
            address=reverse("admin:identity_kycverification_change", args=[verification.pk]),
        )
    items = BankItem.objects.filter(user_id=application.consumer_id).defer("access_token").order_by("-id")
    for item in items[:ENTRIES_MAX]:
        yield TimelineEntry(at=item.linked_at, title="Bank linked", id=str(item.pk), facts=(("at", item.provider),))
    yield from deliveries(application)
    yield from about_person(application.consumer_id, since=application.created_at)


def changes_in_words(changes: Any, members: Mapping[str, Any], currency: str | None) -> SafeString | str:
    """Display a revision's changes as a table. The titles of fields come from the offer."""
    if not isinstance(changes, dict):
        return details(changes)
    rows: list[tuple[Any, Any, Any]] = []
    for path, change in changes.items():
        if not isinstance(change, dict):
            rows.append((path, change, ""))
            continue
        if member := _APPLICANT_MEMBER.fullmatch(path):
            # Revisions don't contain the values of applicants.
            rows.append((f"Applicant {int(member[1]) + 1}: {words(member[2]).replace('.', ', ')}", "changed", ""))
            continue
        title = title_of(path, members.get(path, {})) if path.isidentifier() else path
        is_money = path.endswith("_cents")
        before, after = (_value_in_words(change.get(side), currency, is_money=is_money) for side in ("before", "after"))
        rows.append((title, before, after))
    return grid(rows, ("", "Before", "After"))


def _value_in_words(value: Any, currency: str | None, *, is_money: bool) -> Any:
    if is_money and type(value) is int:
        return money(value, currency)
    return spelled(value)


def revision_entries(record: Application, revisions: Iterable[ApplicationRevision]) -> Iterator[TimelineEntry]:
    before, is_masked = "as created", getattr(record, "is_masked", False)
    members = OfferRequirements.by(record.offer_snapshot).members
    for revision in revisions:
        yield TimelineEntry(
            at=revision.changed_at,
            title="Data changed",
            id=str(revision.pk),
            claimed=claimed_name(revision.updated_by, revision.principal),
            actor=person_name(revision.principal),
            credential=revision.credential,
            facts=(
                ("while", words(revision.status)),
                ("before", before),
                ("after", revision.sha256),
                *((("applicants", revision.applicants_sha256),) if revision.applicants_sha256 else ()),
            ),
            # Values are personal data, so viewers of a masked record see only that the data changed.
            details=None if is_masked else changes_in_words(revision.changes, members, record.shown_currency),
            details_title="Changes",
        )
        before = revision.sha256
