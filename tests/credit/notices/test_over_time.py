"""Notices over almost four months; `NOTICES=10000` requests that many over 400 days, which takes minutes."""

import os

import pytest

from credit.models import Counteroffer, Notice
from credit.notices import services
from tests.credit.notices.over_time import Simulation
from tests.credit.notices.world import START, World, offer_of, provider_offer
from tests.properties import quick_or_full

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _many(no_rate_limits):
    """Disable the limit of mails to one address."""


@pytest.mark.timeout(0 if "NOTICES" in os.environ else 600)
@pytest.mark.parametrize(
    ("jurisdiction", "seed", "days"),
    quick_or_full([("us", 30, 107), ("eu", 11, 110)], [("us", 30, 125), ("eu", 31, 125)]),
)
def test_notices_are_issued_on_time_despite_worker_pauses_in_a_simulation(jurisdiction, seed, days):
    simulation = Simulation(offer_of(jurisdiction), seed=seed, start=START)
    wanted = int(os.environ.get("NOTICES", "0"))
    simulation.live(wanted=wanted or 300, days=400 if wanted else days)
    summary = simulation.finish()
    print(summary)
    assert summary["notices"] > 30
    kinds = set(Notice.objects.filter(status="delivered").values_list("kind", flat=True))
    own = {"us": "pricing", "eu": "withdrawal_reminder"}[jurisdiction]
    assert kinds == {"adverse_action", "approval", "counteroffer", "incomplete", own}
    outcomes = set(Counteroffer.objects.values_list("outcome", flat=True))
    assert outcomes >= {"accepted", "declined", "expired", "superseded", "withdrawn"}
    counted = ("overdue", "named", "forgotten", "hashes_wrong", "owed_twice", "counteroffers_wrong")
    assert {name: summary[name] for name in counted} == dict.fromkeys(counted, 0)


def test_worker_reports_each_notice_deadline_that_passed_during_its_downtime():
    offer = provider_offer()
    worlds = {number: World(offer) for number in range(8, 13)}
    for number, world in worlds.items():
        world.submit(number)
        world.reject(number + 5)
    services.issue_due(now=worlds[8].at(40))
    reported = [number for number, world in worlds.items() if world.application.clocks.get().overdue_told_at]
    assert reported == [8, 9, 10]
