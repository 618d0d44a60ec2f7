"""A simulation of notices and counteroffers over many days.

Applicants apply, open notices, withdraw, and accept. Lenders decide, make counteroffers, request documents, and reopen
applications. The worker and the mail are down for days. Lenders post undelivered notices each day. At the end, each
clock is compared with a separate computation of the law from the days of the events. Each history is compared with the
outcomes of its counteroffers.
"""

import random
from collections import Counter
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from config.core.digest import digest_of
from config.core.errors import ApiError
from config.webhooks.models import Event
from credit.models import Application, Clock, Counteroffer, Notice
from credit.models.notices import UNDELIVERED
from credit.notices import services
from credit.terms import counteroffers
from tests.credit.notices.test_table import FOUND, REPORT, SCORE
from tests.credit.notices.world import TERMS, WHOLE, World

LENDER_DECIDES_WITHIN = 20  # The limit in days applies to every complete application.
PAUSES_APART = {"us": 10, "eu": 2}  # The days between two pauses prevent a notice from waiting for both pauses.


class Simulation:
    def __init__(self, offer, *, seed: int, start: datetime) -> None:
        self.chance, self.start, self.day = random.Random(seed), start, 0
        self.offer, self.worlds, self.stories, self.next_day = offer, {}, {}, {}
        self.is_eu = offer.conventions.is_eu
        self.done: Counter[str] = Counter()

    def live(self, *, wanted: int, days: int) -> dict[str, int]:
        """Simulate that many days, with about that many required notices; the worker is sometimes down."""
        down_until, fresh = 0, max(1, round(wanted / days / 1.4))
        apart = PAUSES_APART["eu" if self.is_eu else "us"]
        for self.day in range(days):
            if self.day >= down_until + apart and self.chance.random() < 0.03:
                down_until = self.day + (1 if self.is_eu else self.chance.randrange(2, 6))
            if self.day < days - 100:
                for _ in range(fresh):
                    self.apply()
            self.let_things_happen([world for world in self.worlds.values() if self.next_day[world.pk] <= self.day])
            if self.day >= down_until:
                self.work()
            self.post()
        for self.day in range(days, days + 6):  # These notices are about the decisions of the last days.
            self.work()
            self.post()
        return dict(self.done)

    def apply(self) -> None:
        language = self.chance.choice(["en", "es"])
        world = World(self.offer, person={**WHOLE, "language": language}, start=self.start)
        world.submit(self.day)
        self.worlds[world.pk] = world
        self.stories[world.pk] = self.next_day[world.pk] = self.day
        if self.chance.random() < 0.5:
            world.consent(self.day, language)

    def let_things_happen(self, worlds: list[World]) -> None:
        """Apply at most one event of the day to each of these applications; one query reads their states."""
        pks = [world.pk for world in worlds]
        applications = Application.objects.in_bulk(pks)
        rows = Notice.objects.filter(application__in=pks).exclude(status="cancelled").order_by("id")
        rows = rows.select_related("application").defer("content", "html")
        # Use the newest undelivered notice, or the newest notice if all are delivered. An approval can wait behind a
        # delivered pricing notice.
        newest = {notice.application_id: notice for notice in sorted(rows, key=lambda row: row.status in UNDELIVERED)}
        for world in worlds:
            self.next_day[world.pk] = self.day + self.chance.randrange(1, 6)
            step = self.step_for(world, applications[world.pk], newest.get(world.pk), self.chance.random())
            if step is None:
                continue
            try:
                with transaction.atomic():
                    step()
            except ApiError:
                self.done["refused"] += 1

    def step_for(self, world: World, application: Application, notice: Notice | None, roll: float):
        age = self.day - self.stories[world.pk]
        if notice is not None and notice.status in {"ready", "failed"} and roll < 0.5:
            return lambda: services.record_opening(notice, actor=world.consumer, now=world.at(self.day))
        if application.status == "under_review":
            return self.decision(world, application, roll, is_last_day=age >= LENDER_DECIDES_WITHIN)
        if application.status == "pending_documents":
            if roll < 0.2:
                return lambda: world.supply(self.day)
            return (lambda: world.reject(self.day)) if age >= LENDER_DECIDES_WITHIN and roll < 0.5 else None
        # In the EU, a reopening before the notice is delivered does not end the requirement of 3 days.
        may_reopen = not self.is_eu or (notice is not None and notice.status == "delivered")
        if application.status in {"approved", "rejected"} and roll > 0.95 and may_reopen:
            return lambda: world.reopen(self.day)
        if roll < 0.3 and (application.status == "withdrawn" or (notice is not None and notice.status == "delivered")):
            del self.worlds[world.pk]  # The application is closed.
            return None
        takes_up = application.status == "approved" and roll > (0.4 if self.is_eu else 0.9)
        return (lambda: self.take_up(world)) if takes_up else None

    def decision(self, world: World, application, roll: float, *, is_last_day: bool):
        facts = REPORT | (FOUND if self.is_eu else {})
        report = self.chance.choice([{}, {}, {"consumer_report": facts}, {"consumer_report": facts | SCORE}])
        offered = application.counteroffers.filter(closed_at=None).exists()
        if is_last_day and not offered:
            return lambda: world.reject(self.day, **report)
        if offered:
            steps = [
                (0.15, lambda _day: self.take_up(world)),
                (0.1, world.decline),
                (0.1, world.take_back),
                (0.1, world.reject),
            ]
        else:
            until, combined = self.day + self.chance.randrange(1, 60), self.chance.random() < 0.3
            steps = [
                (0.2, lambda day: world.reject(day, **report)),
                (0.15, lambda day: world.approve(day, **report)),
                (0.2, lambda day: world.counter(day, until=until, terms=TERMS, with_denial=combined, **report)),
                (0.15, world.request_documents),
                (0.05, world.withdraw),
            ]
        for share, step in steps:
            if roll < share:
                return lambda: step(self.day)
            roll -= share
        return None

    def take_up(self, world: World) -> None:
        world.take_up(self.day, form_days=self.chance.choice([0.5, 2]) if self.is_eu else 2)

    def work(self) -> None:
        """Run the workers in the evening; most mails are sent successfully."""
        now = self.evening
        counteroffers.expire(now=now)
        self.issue(now)
        World.mails("sent" if self.chance.random() < 0.9 else "failed")
        self.issue(now)

    def post(self) -> None:
        """Post undelivered notices; the back office shows a notice in red two days before its due date."""
        now = self.evening
        late = Q(made_at__lte=now - timedelta(days=4)) | Q(due_at__lte=now + timedelta(days=2))
        for notice in Notice.objects.filter(late, status__in=("ready", "failed")):
            world = self.worlds.get(notice.application_id)
            if world is not None:
                services.record_delivery(
                    str(world.pk), str(notice.pk), channel="post", at=now, reference="RR", actor=world.lender, now=now
                )  # fmt: skip

    @property
    def evening(self) -> datetime:
        return self.start + timedelta(days=self.day, hours=8)

    def issue(self, now: datetime) -> None:
        done = {"ready": 1}
        while any(count for name, count in done.items() if name != "waiting"):
            done = services.issue_due(now=now)
            self.done.update(done)

    def finish(self) -> dict[str, int]:
        """Return the results of the simulation."""
        late = [clock for clock in Clock.objects.iterator() if self.ran_out(clock)]
        named = Event.objects.filter(type="notice.overdue").count()
        count = Notice.objects.filter(status="delivered").count()
        forgotten = Notice.objects.exclude(status__in=("delivered", "cancelled")).count()
        wrong = sum(
            digest_of(notice.html) != notice.sha256 for notice in Notice.objects.filter(html__isnull=False).iterator()
        )
        return {
            "notices": Notice.objects.count(), "told": count, "overdue": len(late), "named": named,
            "forgotten": forgotten, "hashes_wrong": wrong, "owed_twice": self.owed_twice(),
            "counteroffers_wrong": sum(map(self.is_wrong, Counteroffer.objects.select_related("application"))),
        }  # fmt: skip

    @staticmethod
    def is_wrong(counteroffer: Counteroffer) -> bool:
        """Return whether a counteroffer's history does not match its outcome."""
        application = counteroffer.application
        rows = application.history.filter(metadata__isnull=False)
        decisions = [
            row.status for row in rows if row.metadata.get("counteroffer", {}).get("id") == str(counteroffer.pk)
        ]
        expected = {Counteroffer.ACCEPTED: ["approved"], Counteroffer.EXPIRED: ["rejected"]}
        if counteroffer.closed_at is None:
            return application.status != "under_review" or decisions != []
        is_late = counteroffer.closed_at >= counteroffer.expires_at
        must_be_late = {Counteroffer.ACCEPTED: False, Counteroffer.EXPIRED: True}.get(counteroffer.outcome, is_late)
        return decisions != expected.get(counteroffer.outcome, []) or is_late != must_be_late

    def ran_out(self, clock: Clock) -> bool:
        """Return whether a clock expired, computed from its days alone: 30, 90 for a counteroffer, or 3 in the EU."""
        days = {"application": 30, "action": 30, "counteroffer": 90, "review": 30}[clock.kind]
        last = clock.started_at + timedelta(days=days)
        if self.is_eu and clock.kind == "action":
            # The platform's limit for "without delay" is 3 days (Directive (EU) 2023/2225, Art. 18(9)).
            decisions = clock.application.history.filter(status__in=("approved", "rejected", "expired"))
            times = [
                *decisions.values_list("changed_at", flat=True),
                *clock.application.counteroffers.values_list("offered_at", flat=True),
            ]
            decided = [at for at in times if clock.started_at <= at <= (clock.stopped_at or self.evening)]
            last = min([last, *(at + timedelta(days=3) for at in decided)])
        return (clock.stopped_at or self.evening) > last

    @staticmethod
    def owed_twice() -> int:
        """Return the number of applications with two waiting notices."""
        waiting = Counter(
            Notice.objects.filter(status__in=("due", "ready", "failed")).values_list("application_id", flat=True)
        )
        return sum(count > 1 for count in waiting.values())
