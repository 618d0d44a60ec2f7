"""Counteroffers over many days, with moves, reopenings and a worker that is down: `COUNTEROFFERS=10000` for many."""

import json
import os

import pytest
from django.utils import timezone

from tests.credit.terms.lending import applied, listed
from tests.credit.terms.over_time import run
from tests.factories import UserFactory

COUNTEROFFERS = int(os.environ.get("COUNTEROFFERS", "40"))


@pytest.mark.django_db
def test_no_clock_is_wrong_and_no_counteroffer_has_two_outcomes(settings, capsys):
    settings.REVIEW_POLICY = "reviewed"
    days = 400 if COUNTEROFFERS >= 1000 else 25

    def apply(offer, *, consumer, now):
        return applied(offer, consumer=consumer, created_at=now, updated_at=now, submitted_at=now).pk

    found = run(listed(), UserFactory(), apply, counteroffers_wanted=COUNTEROFFERS, days=days, start=timezone.now())
    with capsys.disabled():
        print(json.dumps(found)) if COUNTEROFFERS >= 1000 else None
    assert (found["clocks_wrong"], found["double_outcomes"]) == (0, 0)
    assert found["counteroffers"] >= COUNTEROFFERS * 0.7
    assert {"accepted", "declined", "expired", "superseded", "withdrawn"} <= set(found["outcomes"])
