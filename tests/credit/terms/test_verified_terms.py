"""Test that the verifier computes the terms of approvals separately, and that curo finds the same rate.

`APPROVALS=10000` makes that many random approvals instead of a few.
"""

import json
import os
import random
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from itertools import product

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from config.core.json_text import canonical_json
from config.core.lifecycle import Actor
from credit.anchoring.verify_decision import FAIL, OK, parse, verify
from credit.anchoring.verify_decision import Check as Verifier
from credit.models import Application, DecisionAnchor, LoanTerms
from credit.review.services import decide
from credit.terms.loans import Loan, compute, schedule_of
from tests.credit.scoring.bundles import KEY, RECORD_KEYS, bundle, recorded
from tests.credit.support import make_reviewer as reviewer
from tests.credit.terms.lending import applied, listed
from tests.factories import UserFactory
from tests.properties import examples

APPROVALS = int(os.environ.get("APPROVALS", examples(50).max_examples))
TOLERANCE_POINTS = 0.005
FIGURES = (
    "amount_cents", "rate_percent", "term_months", "fee_cents", "apr_percent", "payment_cents", "final_payment_cents",
    "total_of_payments_cents", "finance_charge_cents", "amount_financed_cents", "method",
)  # fmt: skip
# These loans include each way in which Appendix J counts time.
loans = st.builds(
    Loan,
    amount_cents=st.integers(100, 10**12) | st.integers(1, 100_000),
    rate_percent=st.decimals(0, 1000, places=4) | st.decimals(0, 40, places=2),
    term_months=st.integers(1, 600) | st.integers(1, 4),
    fee_cents=st.just(0) | st.integers(0, 50),
    first_payment_on=st.none(),
)


def checked(recorded_terms, application_id="a"):
    """Return the verifier's result for the terms of a record; raise CheckFailed."""
    check = Verifier(b"", None, ())
    check.fields = parse(
        canonical_json({**recorded_terms, "decision": "approved", "application_id": application_id}).decode()
    )
    return check.terms()[0]


@given(loans, st.dates(date(1999, 1, 1), date(2099, 12, 31)), st.none() | st.integers(1, 365))
@examples(400)
def test_verifier_computes_the_same_terms_for_random_loans(loan, today, days):
    first = None if days is None else today + timedelta(days)
    fee = min(loan.fee_cents, loan.amount_cents - 1)
    loan = Loan(loan.amount_cents, loan.rate_percent, loan.term_months, fee, first)
    terms = computed(loan, today)
    assert checked(terms.to_record(), str(terms.application_id)) == OK


def computed(loan, today):
    now = timezone.now().replace(year=today.year, month=today.month, day=1) + timedelta(today.day - 1)
    return compute(Application(), loan, kind="approval", now=now)


def random_approval(chance):
    """Return random terms within the offers of this test."""
    terms = {
        "amount_cents": chance.randrange(100_000, 4_000_001),
        "rate_percent": chance.randrange(69_000, 300_001) / 10_000,
        "term_months": chance.choice([12, 24, 36, 60]),
    }
    if chance.random() < 0.5:
        terms["fee_cents"] = chance.randrange(terms["amount_cents"] // 50)
    if chance.random() < 0.3:
        terms["first_payment_on"] = (timezone.now().date() + timedelta(chance.randrange(10, 80))).isoformat()
    return terms


@pytest.mark.django_db
def test_every_approval_records_the_loan_and_its_cost(settings, monkeypatch):
    from curo import USAppendixJ
    from curo.utils import roll_month
    from pandas import Timestamp

    monkeypatch.setattr("curo.daycount.us_appendix_j.roll_month", lru_cache(None)(roll_month))
    settings.REVIEW_POLICY, settings.ANCHOR_DECISIONS = "reviewed", True
    convention, chance = USAppendixJ(), random.Random(7)
    offer, consumer = listed(apr_max_percent=99), UserFactory()
    actor, judged = Actor(user=reviewer(), credential="test"), 0
    for _ in range(APPROVALS):
        application, approval = applied(offer, consumer=consumer), random_approval(chance)
        decide(application, "approved", actor=actor, now=timezone.now(), metadata={"terms": approval})
        record = json.loads(DecisionAnchor.objects.get(application=application).record)
        terms = record["terms"]
        assert all(terms[name] is not None for name in FIGURES)
        assert {name: terms[name] for name in approval} == approval
        assert record["schedule_sha256"]
        assert checked(record, str(application.pk)) == OK
        kept = LoanTerms.objects.get(application=application)
        schedule, start = schedule_of(kept), kept.as_of
        # If a date is the last day of its month, curo calculates with month ends. Every day after 27 can be a last day,
        # so the test skips these loans.
        if start.day > 27 or schedule[0].due_on.day > 27:
            continue
        judged += 1
        flows = [
            (payment.payment_cents, convention.compute_factor(Timestamp(start), Timestamp(payment.due_on)))
            for payment in schedule
        ]
        low, high = (
            sum(
                cents / ((1 + (time.partial_period_fraction or 0) * rate) * (1 + rate) ** time.primary_period_fraction)
                for cents, time in flows
            )
            for rate in ((terms["apr_percent"] + by) / 1200 for by in (-TOLERANCE_POINTS, TOLERANCE_POINTS))
        )
        assert low > terms["amount_financed_cents"] > high, terms
    assert judged or timezone.now().day > 27


ABOUT = json.loads(bundle()["record"])["application_id"]


def forged(told=None, rehash=True, **changes):
    """Return a bundle about a loan with `changes` to its terms, signed and anchored like a valid bundle."""
    application = Application(pk=ABOUT)
    now = timezone.now().replace(2026, 2, 3)
    loan = Loan(1_000_000, Decimal("7.25"), 36, 12_000, date(2026, 4, 20))
    recorded_terms = compute(application, loan, kind="approval", now=now).to_record()
    terms = {**recorded_terms["terms"], **changes}
    if rehash:
        recorded_terms["terms_sha256"] = sha256(canonical_json(terms)).hexdigest()
    person = {"decision": "approved", "automated": False, "reasons": [], "record_version": 3}
    return recorded(bundle(), **{**person, **recorded_terms, "terms": terms, **(told or {})})


def outcome(given):
    """Return the first step that fails, None if every step passes."""
    last = verify(json.dumps(given).encode(), KEY, [RECORD_KEYS])[-1]
    return last.name if last.state == FAIL else None


def tamperings():
    """Yield bundles with changed terms."""
    terms = json.loads(forged()["record"])["terms"]
    cents = [name for name in terms if name.endswith("_cents")]
    for name, by, rehash in product(cents, (-1, 1), (False, True)):
        yield forged(rehash=rehash, **{name: terms[name] + by})
    for by in (-0.0001, 0.0001):
        yield forged(apr_percent=round(terms["apr_percent"] + by, 4))
    yield from map(forged, (
        {"terms_as_of": "2026-02-04"}, {"schedule_sha256": "0" * 64}, {"schedule_sha256": None},
        {"decision": "rejected"},
    ))  # fmt: skip
    for changes in (
        {"rate_percent": 7.26}, {"term_months": 37}, {"first_payment_on": "2026-04-21"}, {"first_payment_on": None},
        {"method": "eu_annex_iii"}, {"application_id": "another"},
    ):  # fmt: skip
        yield forged(**changes)


def test_verifier_finds_changed_terms_in_a_signed_bundle():
    assert outcome(forged()) is None
    outcomes = [outcome(changed) for changed in tamperings()]
    assert outcomes == ["terms"] * len(outcomes)
    assert len(outcomes) >= 30
