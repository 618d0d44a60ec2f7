"""A simulation of counteroffers over many days.

People take up, decline and withdraw, lenders decide otherwise, ask for documents, reopen and offer again, data changes,
and the worker is down for days. Every day each clock is held against the time, and in the end each history against the
outcomes of its counteroffers.
"""

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from config.core.errors import ApiError
from config.core.lifecycle import Actor
from credit.applications.services import change_application, expire_idle
from credit.models import Application, Counteroffer
from credit.review.services import change_status
from credit.terms import counteroffers
from credit.terms.acceptance import accept, describe

BECAUSE = {"reasons": ["no_credit_file"]}


class Simulation:
    def __init__(self, offer: Any, consumer: Any, apply: Any, *, seed: int, start: datetime) -> None:
        self.chance, self.now, self.apply = random.Random(seed), start, apply
        self.person = Actor(user=consumer, credential="test")
        self.lender = Actor(user=offer.provider.owner, credential="test")
        self.offer, self.consumer = offer, consumer
        self.open: list[Any] = []  # applications whose story is not over
        self.made, self.wrong, self.double = 0, 0, 0
        self.outcomes: Counter[str] = Counter()

    def day(self, fresh: int, *, worker: bool) -> None:
        """Let a day go by: applications come in, some hours pass, people act, the worker runs or is down."""
        for _ in range(fresh):
            self.open.append(self.apply(self.offer, consumer=self.consumer, now=self.now))
        for pk in self.chance.sample(self.open, len(self.open)):
            self.now += timedelta(seconds=1)
            self.try_to(self.step_for(Application.objects.get(pk=pk)))
        self.now += timedelta(days=1) - timedelta(seconds=len(self.open))
        if worker:
            counteroffers.expire(now=self.now)
            expire_idle(now=self.now)
        self.check(worker=worker)

    def try_to(self, step: Any) -> None:
        try:
            with transaction.atomic():
                step()
        except ApiError:
            pass  # a refusal is an answer

    def step_for(self, application: Application) -> Any:
        """Return what happens to an application today."""
        pk, roll = str(application.pk), self.chance.random()
        offered = application.counteroffers.filter(closed_at=None).first()
        if application.status != "under_review":
            reopens = application.status in {"approved", "rejected", "pending_documents"} and roll < 0.1
            return lambda: reopens and self.move(pk, self.lender, "under_review")
        if offered is None:
            return (lambda: self.counter(pk)) if roll < 0.7 else (lambda: None)
        steps = [
            (0.06, lambda: self.take_up(application)),
            (0.03, lambda: counteroffers.decline(pk, str(offered.pk), actor=self.person, now=self.now)),
            (0.03, lambda: counteroffers.withdraw(pk, str(offered.pk), actor=self.lender, now=self.now)),
            (0.02, lambda: self.move(pk, self.lender, self.chance.choice(["approved", "rejected"]))),
            (0.02, lambda: self.move(pk, self.lender, "pending_documents")),
            (0.01, lambda: self.move(pk, self.person, "withdrawn")),
            (0.02, lambda: self.change(pk)),
        ]
        for share, step in steps:
            if roll < share:
                return step
            roll -= share
        return lambda: None

    def counter(self, pk: str) -> None:
        until = self.now + timedelta(days=self.chance.randrange(1, 60))
        body = {"terms": {"amount_cents": 500_000}, **BECAUSE, "expires_at": until.isoformat()}
        self.move(pk, self.lender, "counteroffer", body)
        self.made += 1

    def move(self, pk: str, actor: Actor, to: str, metadata: Any = BECAUSE) -> None:
        change_status(pk, to, actor=actor, changed_by="x", reason="Anew.", metadata=metadata, now=self.now)

    def take_up(self, application: Application) -> None:
        sha = describe(application, now=self.now).terms_sha256
        accept(str(application.pk), terms_sha256=sha, actor=self.person, now=self.now)

    def change(self, pk: str) -> None:
        data = {"amount_cents": 1_000_000, "term_months": 24, "day": self.now.isoformat()}
        change_application(pk, actor=self.person, updated_by="me", changes={"application_data": data}, now=self.now)

    def check(self, *, worker: bool) -> None:
        """Count the clocks that are wrong today, and let some applications be."""
        for offered in Counteroffer.objects.filter(closed_at=None).select_related("application"):
            is_late = offered.expires_at <= self.now
            acceptable = counteroffers.acceptable_of(offered.application, now=self.now)
            self.wrong += (worker and is_late) or offered.application.status != "under_review"
            self.wrong += acceptable is not None and (is_late or acceptable != offered)
        self.open = [pk for pk in self.open if self.chance.random() > 0.08]

    def check_story(self, application: Application) -> None:
        """Count what an application's history says otherwise than its counteroffers."""
        ended = list(application.counteroffers.all())
        accepted = {str(one.pk) for one in ended if one.outcome == Counteroffer.ACCEPTED}
        expired = {str(one.pk) for one in ended if one.outcome == Counteroffer.EXPIRED}
        told = [(row.status, row.metadata["counteroffer"]["id"]) for row in application.history.all() if row.metadata
                and "counteroffer" in row.metadata]  # fmt: skip
        self.double += sorted(told) != sorted(
            [("approved", one) for one in accepted] + [("rejected", one) for one in expired]
        )
        taken_up = application.acceptances.filter(loan_terms__kind="counteroffer").count()
        self.double += taken_up != len(accepted)
        in_time = all(one.closed_at < one.expires_at for one in ended if one.outcome == Counteroffer.ACCEPTED)
        after = all(one.closed_at >= one.expires_at for one in ended if one.outcome == Counteroffer.EXPIRED)
        self.wrong += not (in_time and after)

    def finish(self) -> dict[str, Any]:
        self.now += timedelta(days=100)
        counteroffers.expire(now=self.now)
        self.wrong += Counteroffer.objects.filter(closed_at=None).count()
        for application in Application.objects.filter(counteroffer_moves__gt=0).iterator():
            self.check_story(application)
        outcomes = Counter(Counteroffer.objects.values_list("outcome", flat=True))
        told = {"counteroffers": sum(outcomes.values()), "outcomes": dict(sorted(outcomes.items()))}
        return {**told, "clocks_wrong": self.wrong, "double_outcomes": self.double}


def run(
    offer: Any, consumer: Any, apply: Any, *, counteroffers_wanted: int, days: int, start: datetime
) -> dict[str, Any]:
    """Simulate so many days, in which about so many counteroffers are made; the worker is down on one day in five."""
    simulation = Simulation(offer, consumer, apply, seed=11, start=start)
    down_until = 0
    for number in range(days):
        if number >= down_until and simulation.chance.random() < 0.06:
            down_until = number + simulation.chance.randrange(2, 8)
        fresh = max(1, round(counteroffers_wanted / days / 1.5))
        simulation.day(fresh, worker=number >= down_until)
    return simulation.finish()
