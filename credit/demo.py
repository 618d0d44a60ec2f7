"""Demo data of this app: four offers of two providers, and applications in every status."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from config.core.lifecycle import Actor
from credit.applications import create_application
from credit.document_requests import request_documents
from credit.machine import APPROVED, DRAFT, EXPIRED, PENDING_DOCUMENTS, REJECTED, SUBMITTED, UNDER_REVIEW, WITHDRAWN
from credit.models import Application, Offer, Provider
from credit.offers import create_offer

_NOTHING = dict.fromkeys(Offer.TERMS)
_OFFERS: list[dict[str, Any]] = [
    {
        "provider_id": "1001",
        "name": "Harbour personal loan",
        "description": "A fixed-rate loan for any purpose, paid out within two days.",
        "product_type": "personal_loan",
        "apr_min_percent": 6.9,
        "apr_max_percent": 17.5,
        "loan_amount_min_cents": 100_000,
        "loan_amount_max_cents": 4_000_000,
        "term_options_months": [12, 24, 36, 60],
        "nationwide": True,
    },
    {
        "provider_id": "1001",
        "name": "Harbour everyday card",
        "description": "A credit card without an annual fee.",
        "product_type": "credit_card",
        "apr_min_percent": 15.9,
        "apr_max_percent": 24.9,
        "nationwide": True,
        "customer_segment": "new_to_credit",
    },
    {
        "provider_id": "1002",
        "name": "Prairie home improvement loan",
        "description": "For work on a home of one's own, in the states where Prairie lends.",
        "product_type": "home_improvement",
        "apr_min_percent": 5.4,
        "apr_max_percent": 11.2,
        "loan_amount_min_cents": 500_000,
        "loan_amount_max_cents": 10_000_000,
        "term_options_months": [60, 120, 180],
        "nationwide": False,
        "included_states": ["IA", "KS", "MN", "NE"],
    },
    {
        "provider_id": "1002",
        "name": "Prairie quick loan",
        "description": "A small loan with a decision on the same day; half of all visitors see this variant.",
        "product_type": "personal_loan",
        "apr_min_percent": 9.9,
        "apr_max_percent": 19.9,
        "loan_amount_max_cents": 500_000,
        "term_options_months": [6, 12],
        "nationwide": True,
        "ab_test_variant": "same-day",
        "ab_test_allocation": 50,
    },
]
_OWNER, _REVIEWER, _SYSTEM = "consumer", "reviewer", "system"
# How a demo application got where it is: (status, who moved it there, why).
_SENT, _TAKEN = (SUBMITTED, _OWNER, None), (UNDER_REVIEW, _REVIEWER, None)
# How many days ago each began, and its moves.
_STORIES: list[tuple[int, list[tuple[str, str, str | None]]]] = [
    (1, []),
    (2, [_SENT]),
    (26, [_SENT]),
    (6, [_SENT, _TAKEN]),
    (9, [_SENT, _TAKEN, (PENDING_DOCUMENTS, _REVIEWER, "Please send your last two payslips.")]),
    (12, [_SENT, _TAKEN, (APPROVED, _REVIEWER, "Income and identity are verified.")]),
    (15, [_SENT, _TAKEN, (REJECTED, _REVIEWER, "Income is too low for the amount asked for.")]),
    (20, [_SENT, (WITHDRAWN, _OWNER, "I have found another offer.")]),
    (45, [(EXPIRED, _SYSTEM, "Idle for 30 days.")]),
]


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:
    """Make the offers and applications, unless they are there."""
    if Provider.objects.filter(pk="1001").exists():
        return
    begun = now - timedelta(days=60)
    offers = [create_offer(owner=staff, terms={**_NOTHING, **terms}, now=begun) for terms in _OFFERS]
    actors = {
        _OWNER: (Actor(user=consumer, credential="demo"), str(consumer.pk)),
        _REVIEWER: (Actor(user=staff, credential="demo"), staff.username),
        _SYSTEM: (Actor.system("seed_demo"), "system"),
    }
    for number, (days, moves) in enumerate(sorted(_STORIES, key=lambda story: -story[0])):
        moment = now - timedelta(days=days)
        application = _apply(consumer, offers[number % len(offers)], number, moment)
        for step, (status, who, reason) in enumerate(moves, start=1):
            actor, name = actors[who]
            later = moment + timedelta(hours=3 * step)
            metadata = {"reasons": ["income_insufficient"]} if status == REJECTED else None
            application.transition_to(
                status, actor=actor, changed_by=name, now=min(later, now), reason=reason, metadata=metadata
            )
            if status == PENDING_DOCUMENTS:
                wanted = ["Payslip of last month", "Payslip of the month before"]
                request_documents(application, wanted, by=staff, now=min(later, now))


def _apply(consumer: Any, offer: Offer, number: int, moment: datetime) -> Application:
    return create_application(
        consumer_id=consumer.pk,
        offer_id=offer.pk,
        provider_id=int(offer.provider_id),
        application_data={"amount_cents": 250_000 + 75_000 * number, "purpose": "household", "income_cents": 5_200_000},
        initial_status=DRAFT,
        now=moment,
    )
