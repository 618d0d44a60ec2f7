from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction

from config.core.groups import LENDER
from config.core.lifecycle import Actor
from config.core.names import name_key
from config.ops import demo_ids
from config.webhooks.publishing import publish_account
from credit import models
from credit.anchoring import record_keys
from credit.core.applicants import FIRST
from credit.core.machine import APPROVED, EXPIRED, PENDING_DOCUMENTS, REJECTED, SUBMITTED, UNDER_REVIEW, WITHDRAWN
from credit.demo import book
from credit.models.documents import DocumentFile, RequestedDocument
from credit.models.reports import CREDIT, PURPOSES
from credit.models.scoring import CHALLENGER, CHAMPION
from credit.offers.services import create_offer
from credit.reports.sandbox import SandboxVendor
from credit.reports.services import finish
from credit.reports.vendor import ReportRequest
from credit.scoring.versions import add_version, create_model, publish
from credit.terms import counteroffers
from credit.terms.acceptance import accept

_LENDERS = {"1001": "Harbour Credit Union", "1002": "Alder Bank", str(demo_ids.OWN_PROVIDER): "Cedar Lending"}
_OWNER, _REVIEWER, _SYSTEM = "consumer", "reviewer", "system"
Move = tuple[str, str, str | None]
# A move in the history of a demo application is (status, actor, reason).
_SENT, _STARTED = (SUBMITTED, _OWNER, None), (UNDER_REVIEW, _REVIEWER, None)
# The applications in _WITH_APPLICANTS have applicants, although their offers require none.
_WITH_APPLICANTS = {
    demo_ids.REJECTED, demo_ids.SCORED, demo_ids.WAITS_FOR_DOCUMENTS, demo_ids.APPROVED, demo_ids.UNDER_REVIEW,
}  # fmt: skip
# Each history has an application ID, the days since the creation, and the transitions, oldest first.
_HISTORIES: list[tuple[UUID, int, list[Move]]] = [
    (demo_ids.EXPIRED, 45, [(EXPIRED, _SYSTEM, "Idle for 30 days.")]),
    (demo_ids.LEFT_ALONE, 26, [_SENT]),
    (demo_ids.WITHDRAWN, 20, [_SENT, (WITHDRAWN, _OWNER, "I have found another offer.")]),
    (demo_ids.REJECTED, 15, [_SENT, _STARTED, (REJECTED, _REVIEWER, "Income is too low for the requested amount.")]),
    (demo_ids.APPROVED, 12, [_SENT, _STARTED, (APPROVED, _REVIEWER, "Income and identity are verified.")]),
    (
        demo_ids.WAITS_FOR_DOCUMENTS,
        9,
        [_SENT, _STARTED, (PENDING_DOCUMENTS, _REVIEWER, "Please send your last two pay stubs.")],
    ),
    (demo_ids.UNDER_REVIEW, 6, [_SENT, _STARTED]),
    (demo_ids.SUBMITTED, 2, [_SENT]),
    (demo_ids.DRAFT, 1, []),
]
_SCORED_DAYS_AGO = 4
_SCORED_MOVES: list[Move] = [
    _SENT,
    _STARTED,
    (APPROVED, _REVIEWER, ("The score proposes approval, and the file supports it.")),
]
_METADATA = {REJECTED: {"reasons": ["income_insufficient"]}, APPROVED: {"terms": {"term_months": 24}}}
_OTHER_TERMS = {
    "terms": {"amount_cents": 500_000, "rate_percent": 7.9, "term_months": 60},
    "reasons": ["income_insufficient"],
}
_PAYSLIP = b"%PDF-1.4\n%%EOF\n"


def _definition(points: int) -> dict[str, Any]:
    bins: list[dict[str, Any]] = [{"missing": True, "points": 0}, {"below": 200_000, "points": 20}, {"points": points}]
    return {
        "inputs": [{"name": "income", "from": "application_data.monthly_income_cents", "type": "number"}],
        "base_points": 500,
        "characteristics": [
            {"name": "income", "input": "income", "reason": "income_insufficient", "baseline": points, "bins": bins}
        ],
        "outcomes": [{"outcome": "approve", "from": 600}, {"outcome": "decline"}],
    }


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:
    if models.Provider.objects.filter(pk=str(demo_ids.PROVIDER)).exists():
        return
    started_at = now - timedelta(days=book.DAYS + 10)
    if settings.ANCHOR_DECISIONS:
        record_keys.key_at(started_at)  # the first key must be older than the records that it signs
    for pk, name in _LENDERS.items():
        _create_lender(pk, name, consumer if pk == str(demo_ids.OWN_PROVIDER) else staff, started_at)
    lender = Actor(user=staff, credential="demo", second_factor=True)
    *terms_of_others, scored_terms, free_terms = map(book.terms_of, book.DATA["offers"])
    offers = [create_offer(actor=lender, terms=terms, now=started_at) for terms in terms_of_others]
    scored = _make_lender(consumer, staff, scored_terms, started_at)
    create_offer(actor=Actor(user=consumer, credential="demo", second_factor=True), terms=free_terms, now=started_at)
    book.write(consumer=consumer, staff=staff, now=now)
    actors = {
        _OWNER: (Actor(user=consumer, credential="demo"), str(consumer.pk)),
        _REVIEWER: (Actor(user=staff, credential="demo", second_factor=True), staff.username),
        _SYSTEM: (Actor.system("seed_demo"), "system"),
    }
    for number, (identifier, days, moves) in enumerate(_HISTORIES):
        moment = now - timedelta(days=days)
        data = {"amount_cents": 250_000 + 75_000 * number, "purpose": "household", "income_cents": 5_200_000}
        application = _apply(identifier, consumer, offers[number % len(offers)], data, moment)
        _move(application, moves, actors, moment, now)
        if application.status == UNDER_REVIEW:
            until = (now + timedelta(days=30)).isoformat()
            reviewer = {"actor": actors[_REVIEWER][0], "changed_by": staff.username, "id": demo_ids.COUNTEROFFER}
            later = application.updated_at + timedelta(days=1)
            counteroffers.make(application, {**_OTHER_TERMS, "expires_at": until}, now=later, **reviewer)
        if application.status == PENDING_DOCUMENTS:
            _request_pay_stubs(application, consumer=consumer, staff=staff, now=application.updated_at)
    invited = {"provider_id": scored.provider_id, "username": "a-colleague"}
    models.ProviderInvitation.objects.create(id=demo_ids.INVITATION, invited_at=now, **invited)
    data = {"amount_cents": 900_000, "monthly_income_cents": 320_000}
    moment = now - timedelta(days=_SCORED_DAYS_AGO)
    lent = _apply(demo_ids.SCORED, consumer, scored, data, moment)
    _move(lent, _SCORED_MOVES, actors, moment, now)
    terms: Any = lent.loan_terms
    actor, _ = actors[_OWNER]
    claim = {"claimed": "310000", "statement": "My income is $3,100 a month.", "requested_at": lent.updated_at}
    due_at = now + timedelta(days=30)
    fact = "application_data.monthly_income_cents"
    models.Correction.objects.create(id=demo_ids.CORRECTION, application=lent, fact=fact, due_at=due_at, **claim)
    accept(str(lent.pk), terms_sha256=terms.terms_sha256, actor=actor, now=lent.updated_at)
    publish_account(consumer.pk, now=now)  # otherwise the first request for this long feed would be slow


def _create_lender(pk: str, name: str, owner: Any, now: datetime) -> None:
    agency = "ncua" if name.endswith("Credit Union") else None
    number = [*_LENDERS].index(pk) + 1
    address, phone = f"{number} Bank Street\nAmes, IA 50010", f"+1515555{141 + number:04d}"
    described = {"name": name, "name_key": name_key(name), "address": address, "agency": agency}
    described |= {"phone": phone, "email": f"loans@{name.partition(' ')[0].lower()}.example"}
    provider = models.Provider.objects.create(pk=pk, owner=owner, created_at=now, **described)
    models.ProviderMember.objects.create(provider=provider, user=owner, role=models.ProviderMember.OWNER)


def _apply(identifier: UUID, consumer: Any, offer: models.Offer, data: Any, moment: datetime) -> models.Application:
    has_applicants = offer.applicant_requires or identifier in _WITH_APPLICANTS
    return book.apply(identifier, consumer, offer, data, [book.DATA["applicant"]] if has_applicants else None, moment)


def _move(
    application: models.Application, moves: list[Move], actors: dict[str, Any], moment: datetime, now: datetime
) -> None:
    for step, (status, who, reason) in enumerate(moves, start=1):
        actor, name = actors[who]
        later = min(moment + timedelta(hours=3 * step), now)
        metadata = _METADATA.get(status)
        application.transition_to(status, actor=actor, changed_by=name, now=later, reason=reason, metadata=metadata)


def _request_pay_stubs(application: models.Application, *, consumer: Any, staff: Any, now: datetime) -> None:
    requested = {"application": application, "requested_at": now, "changed_by": staff}
    RequestedDocument.objects.create(id=demo_ids.DOCUMENT_ASKED_FOR, name="Pay stub of last month", **requested)
    received = RequestedDocument.objects.create(
        id=demo_ids.DOCUMENT_RECEIVED,
        name="Pay stub of the month before last",
        status=RequestedDocument.RECEIVED,
        received_at=now,
        **requested,
    )
    upload = book.store_upload("payslip.pdf", _PAYSLIP, now=now)
    type(upload.stored).objects.filter(pk=upload.stored.pk).update(is_kept=True)
    columns = {"document": received, "stored": upload.stored, "received_at": now, **upload.facts}
    file = DocumentFile.objects.create(id=demo_ids.DOCUMENT_FILE, principal=consumer, credential="demo", **columns)
    models.Confirmation.objects.create(
        application=application, pointer="/income_cents", value="4800000", file=file, confirmed_by=staff,
        confirmed_at=now,
    )  # fmt: skip
    report = models.Report.objects.create(
        id=demo_ids.REPORT, application=application, applicant=FIRST, kind=CREDIT, vendor=SandboxVendor.name,
        purpose=PURPOSES[0], person=models.Report.persons_of(application, FIRST)[0], requested_by=staff,
        requested_at=now, look_at=now,
    )  # fmt: skip
    request = ReportRequest(str(report.pk), CREDIT, PURPOSES[0], now, book.DATA["applicant"])
    finish(report, SandboxVendor().request(request), now=now)


def _make_lender(consumer: Any, staff: Any, terms: dict[str, Any], now: datetime) -> models.Offer:
    """Make the demo account a lender with a colleague and a scoring model.

    Return the lender's offer that uses the scoring model.
    """
    provider, actor = str(demo_ids.OWN_PROVIDER), Actor(user=consumer, credential="demo", second_factor=True)
    model = create_model(provider_id=provider, name="Cedar scorecard", description="", by=actor, now=now)
    consumer.groups.add(Group.objects.get(name=LENDER))
    models.ProviderMember.objects.create(provider_id=provider, user=staff)
    # Under the policy four_eyes, the author of a version can't publish it.
    colleague = Actor(user=staff, credential="demo", second_factor=True)
    for points, role in ((100, CHAMPION), (120, CHALLENGER), (140, None)):
        version = add_version(
            model, definition=_definition(points), note=f"{points} points for income", made_by=consumer, now=now
        )
        if role is not None:
            publish(version, role=role, actor=colleague, now=now)
    return create_offer(actor=actor, terms={**terms, "blockscore_model_id": model.pk}, now=now)
