"""Write 90 days of business of a demo lender: about 200 applications, with the reviewers' decisions.

The functions that process requests also write this data, with times in the past. So histories, notices, clocks,
records, and events are realistic. The random numbers are the same on every machine. Only the dates differ.
"""

import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group

from config.core.casework import Assignment, Note, ReplyTemplate, named
from config.core.digest import digest_of
from config.core.groups import REVIEWER
from config.core.lifecycle import Actor
from config.ops import demo_ids
from credit.applications.services import new_application
from credit.core import machine as states
from credit.core.reasons import in_words
from credit.demo.confirming import accept_documents
from credit.documents import requests, services, storage
from credit.documents.kinds import recognize
from credit.models import Application, Consent, Offer, PersonKey, Proposal
from credit.models.applications import record_application_event
from credit.models.notices import DUE, POST, READY
from credit.models.scoring import CHAMPION
from credit.notices import services as notices
from credit.offers.services import create_offer
from credit.review.services import propose
from credit.scoring.versions import add_version, create_model, publish
from credit.terms import acceptance, counteroffers
from credit.terms.loans import proposed_terms

DAYS = 90
DATA = json.loads(Path(__file__).with_name("book.json").read_text())
_PER_WEEKDAY = (4, 3, 3, 3, 2, 1, 0)  # the number of applications per day, from Monday to Sunday
_STAFF = (("Rosa", "Keller"), ("Tom", "Adeyemi"))
_PAYSLIPS = ("Pay stub of last month", "Photo of an identity card")
_TWO_DECIDE_CENTS = 1_500_000
# Some applications of this age are undecided, although the deadline has passed.
_LATE_DAYS = 33


def terms_of(described: dict[str, Any]) -> dict[str, Any]:
    """Return all terms of an offer. The default of `terms_text` and of its translation is the text for loans."""
    spanish = {"terms_text": DATA["terms_text_es"], **described["translations"]["es"]}
    unset = {**dict.fromkeys(Offer.TERMS), "terms_text": DATA["terms_text"], "language": "en"}
    return {**unset, **described, "translations": {"es": spanish}}


class _NotYet(Exception):
    """The time of the next event is in the future."""


def write(*, consumer: Any, staff: Any, now: datetime) -> None:
    """Write the data. Call this function after creating the demo's offers, and before a notice is due."""
    began = now - timedelta(days=DAYS + 8)
    provider = str(demo_ids.OWN_PROVIDER)
    actor = Actor(user=consumer, credential="demo", second_factor=True)
    model = create_model(provider_id=provider, name="Cedar everyday card", description="", by=actor, now=began)
    note = "Eight characteristics, a price for each band"
    version = add_version(model, definition=DATA["card"], note=note, made_by=consumer, now=began)
    publish(version, role=CHAMPION, actor=_as_staff(staff), now=began)
    terms = {**terms_of(DATA["offer"]), "provider_id": provider, "blockscore_model_id": model.pk}
    scored = create_offer(actor=actor, terms=terms, now=began)
    plain = list(Offer.objects.filter(provider="1001").order_by("pk"))
    people = _accounts([person[0].split() for person in DATA["people"]], began)
    reviewers = [staff, *_accounts(_STAFF, began, is_staff=True)]
    Group.objects.get(name=REVIEWER).user_set.add(*reviewers[1:])
    for number, opened in enumerate(openings(now), start=1):
        draw = Random(number)  # noqa: S311  demo data is not secret
        person = draw.randrange(len(people))
        offer = draw.choices([scored, *plain], (6, 4, 1))[0]
        Lifecycle(number, people[person], DATA["people"][person], offer, reviewers, opened, now).run()
    ReplyTemplate.objects.bulk_create(ReplyTemplate(use=use, name=name, text=text) for use, name, text in DATA["texts"])
    _fill_consoles(*reviewers, now=now)


def apply(identifier: UUID, consumer: Any, offer: Offer, data: Any, persons: Any, moment: datetime) -> Application:
    """Create a draft with `persons`, if any. The amount is limited to the offer's range."""
    least, most = offer.loan_amount_min_cents, offer.loan_amount_max_cents
    data = {**data, "amount_cents": min(max(data["amount_cents"], least or 0), most or data["amount_cents"])}
    application = new_application(
        identifier, consumer.pk, data, persons, moment, offer_id=offer.pk, provider_id=int(offer.provider_id),
        status=states.DRAFT, initial_status=states.DRAFT,
    )  # fmt: skip
    application.save(force_insert=True)
    PersonKey.objects.bulk_create(PersonKey.keys_of(application))
    record_application_event("created", application, now=moment)
    return application


def store_upload(name: str, content: bytes, *, now: datetime) -> services.Received:
    """Store a file like an upload. After a rollback of the demo, the file remains, but no key can decrypt it."""
    facts = {"name": name, "content_type": recognize(content), "size_bytes": len(content)}
    return services.Received(storage.store_file(content, now=now), {**facts, "sha256": sha256(content).hexdigest()})


def _accounts(names: Any, joined: datetime, *, is_staff: bool = False) -> list[Any]:
    """Return accounts without a password. Missing accounts are created."""
    account, same = get_user_model(), {"password": make_password(None), "date_joined": joined, "is_staff": is_staff}
    wanted = {f"demo-{first.lower()}": {"first_name": first, "last_name": last} for first, last in names}
    rows = [account(username=name, **person, **same) for name, person in wanted.items()]
    account.objects.bulk_create(rows, ignore_conflicts=True)
    by_name = account.objects.in_bulk(list(wanted), field_name="username")
    return [by_name[name] for name in wanted]


def openings(now: datetime) -> Iterator[datetime]:
    """Yield the times at which applications are created, oldest first."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for ago in range(DAYS, -1, -1):
        day = midnight - timedelta(days=ago)
        for place in range(_PER_WEEKDAY[day.weekday()]):
            moment = day + timedelta(hours=8 + 2.5 * place, minutes=ago % 60)
            if moment < now:
                yield moment


class Lifecycle:
    """The transitions of a demo application from its creation until now."""

    def __init__(
        self, number: int, consumer: Any, facts: list[str], offer: Offer, reviewers: Any, at: datetime, now: datetime
    ) -> None:
        self.draw = Random(-number)  # noqa: S311  demo data is not secret
        self.at, self.now, self.offer = at, now, offer
        self.progress = 1 - (now - at) / timedelta(days=DAYS)
        self.merit = self.draw.random()
        self.owner = Actor(user=consumer, credential="demo")
        self.first, self.second, self.third = map(_as_staff, self.draw.sample(reviewers, 3))
        self.application = apply(demo_ids.booked(number), consumer, offer, self._data(), [_person(facts)], at)

    def _data(self) -> dict[str, Any]:
        draw, merit = self.draw, self.merit
        income = 10_000 * round(18 + 45 * merit + 12 * draw.random())
        is_line = not self.offer.term_options_months
        return {
            "amount_cents": 50_000 * draw.randint(4, 10 if is_line else 48),
            **({} if is_line else {"term_months": draw.choice(self.offer.term_options_months[:4])}),
            "purpose": draw.choice(["household", "car", "medical", "education", "moving", "debt"]),
            "monthly_income_cents": income,
            "monthly_debt_cents": 100 * round(income * (0.5 - 0.4 * merit + 0.12 * draw.random()) / 100),
            "months_employed": round(3 + 70 * merit * draw.random()),
            "months_at_address": round(4 + 90 * draw.random()),
            "home": draw.choice(["rent", "rent", "mortgage", "own", "family"]),
            "credit_lines": round(7 * draw.random()),
            "missed_payments": round(2.2 * (1 - merit) * draw.random()),
            "inquiries": round(6 * (1 - merit) * draw.random()),
        }

    def run(self) -> None:
        is_late = timedelta(days=_LATE_DAYS) < self.now - self.at < timedelta(days=_LATE_DAYS + 7)
        courses = (self.decide, self.request_documents, self.offer_other_terms, self.withdraw)
        course = self.draw.choices(courses, (80, 6, 6, 8))[0]
        try:
            self.move(states.SUBMITTED, self.owner, minutes=25)
            self.move(states.UNDER_REVIEW, self.first, hours=3 + 20 * self.draw.random())
            if is_late and course == self.decide and not Application.objects.filter(notes=FORGOTTEN).exists():
                Application.objects.filter(pk=self.application.pk).update(notes=FORGOTTEN)
                return
            course()
            self.follow_up()
        except _NotYet:
            pass

    def wait(self, **time: float) -> datetime:
        """Advance the time to a working day. Raises _NotYet if the new time is in the future."""
        self.at += timedelta(**time)
        while self.at.weekday() > 4:
            self.at += timedelta(days=1)
        if self.at >= self.now:
            raise _NotYet
        return self.at

    def move(self, to: str, actor: Actor, *, reason: str | None = None, metadata: Any = None, **time: float) -> None:
        name = actor.name if actor.is_system or actor is self.owner else actor.user.get_username()
        self.application.transition_to(
            to, actor=actor, changed_by=name, now=self.wait(**time), reason=reason, metadata=metadata
        )
        if to in {states.APPROVED, states.REJECTED, states.PENDING_DOCUMENTS}:
            self.inform()

    def consent(self) -> None:
        """Consent to electronic notices if the applicant has not consented yet."""
        if not Consent.is_given_by(self.owner.user.pk):
            digest = digest_of(notices.consent_text("en"))
            notices.give_consent(text_sha256=digest, language="en", actor=self.owner, now=self.at)

    def inform(self) -> None:
        """Create and deliver the due notices."""
        self.wait(minutes=10)
        for notice in self.application.notices.filter(status=DUE).select_related("application", "move"):
            if notices.make(notice, self.at) != READY:
                continue
            if self.draw.random() < 0.8:
                self.wait(hours=2 + 20 * self.draw.random())
                self.consent()
                notices.record_opening(notice, actor=self.owner, now=self.at)
            else:
                self.wait(hours=30)
                reference, pk = f"RR{notice.pk.int % 10**9:09d}US", str(self.application.pk)
                sent: Any = {"channel": POST, "reference": reference, "at": self.at, "now": self.at}
                notices.record_delivery(pk, str(notice.pk), actor=self.first, **sent)

    # --- The possible courses of an application -----------------------------------------------------------------------

    def decide(self) -> None:
        days = 0.5 + (4.5 - 3 * self.progress) * self.draw.random()
        proposed = self.application.proposed_decision
        is_good = self.merit + 0.2 * self.draw.random() > 0.62 - 0.22 * self.progress
        to = states.APPROVED if is_good else states.REJECTED
        if proposed and self.draw.random() < 0.8:
            to = proposed
        metadata = self.terms() if to == states.APPROVED else {"reasons": self.reasons()}
        reason = in_words(metadata.get("reasons") or ())
        if proposed not in {None, to}:
            reason = (
                "The employer confirmed an increase in income."
                if to == states.APPROVED
                else "The documents contradict it."
            )
        if (self.application.amount_cents or 0) > _TWO_DECIDE_CENTS:
            at = self.wait(days=days)
            proposal = propose(self.application, to, actor=self.second, now=at, reason=reason, metadata=metadata)
            self.wait(hours=3)
            proposal.close(Proposal.CONFIRMED, by=self.first.user, now=self.at)
            metadata, days = proposal.confirmed_metadata(by=self.first.user), 0
        self.move(to, self.first, reason=reason, metadata=metadata, days=days)

    def request_documents(self) -> None:
        requests.request_documents(self.application, _PAYSLIPS, by=self.first.user, now=self.wait(hours=5))
        metadata = {"documents": list(_PAYSLIPS)}
        self.move(states.PENDING_DOCUMENTS, self.first, reason="Please send these two.", metadata=metadata, minutes=0)
        files = sorted(DATA["files"].items(), reverse=True)
        for document, (name, text) in zip(self.application.requested_documents.order_by("name"), files, strict=True):
            received = store_upload(name, b64decode(text), now=self.wait(hours=9 + 30 * self.draw.random()))
            pk = str(self.application.pk)
            services.add_file(pk, str(document.pk), received, actor=self.owner, now=self.at)
        self.move(states.UNDER_REVIEW, self.owner, minutes=20)
        self.application = accept_documents(self.application, by=self.first, now=self.wait(hours=20))
        self.decide()

    def offer_other_terms(self) -> None:
        terms = self.terms()["terms"]
        terms["amount_cents"] = max(100_000, terms["amount_cents"] * 3 // 5)
        until = self.wait(days=1.5) + timedelta(days=18)
        metadata = {"terms": terms, "reasons": self.reasons(), "expires_at": until.isoformat()}
        by = {"actor": self.first, "changed_by": self.first.user.get_username()}
        counteroffer = counteroffers.make(self.application, metadata, now=self.at, **by)
        self.inform()
        ending, pk = self.draw.choice(["accepted", "accepted", "declined", "expired"]), str(self.application.pk)
        if ending == "expired":
            self.wait(days=18)
            counteroffers.expire(now=self.at)
            self.application = Application.objects.get(pk=pk)
            self.inform()
        elif ending == "declined":
            counteroffers.decline(pk, str(counteroffer.pk), actor=self.owner, now=self.wait(days=2))
            self.application = Application.objects.get(pk=pk)
            reasons: Any = counteroffer.reasons
            self.move(states.REJECTED, self.first, reason=in_words(reasons), metadata={"reasons": reasons}, days=1)
        else:
            self.accept(counteroffer.loan_terms)

    def withdraw(self) -> None:
        self.move(states.WITHDRAWN, self.owner, reason="I have found another offer.", days=1)

    def follow_up(self) -> None:
        """Accept or expire an approval. For a rejection, request and complete the reconsideration."""
        application = self.application
        if application.status == states.APPROVED and application.accepted_at is None:
            if self.draw.random() < 0.65:
                return self.accept(application.loan_terms)
            self.at = application.updated_at + timedelta(days=30, hours=6)
            system = Actor.system("expire_applications")
            return self.move(states.EXPIRED, system, reason="Idle for 30 days.", minutes=1)
        if application.status == states.REJECTED and self.draw.random() < 0.1:
            ask_again(application, self.wait(days=2))
            self.application = Application.objects.get(pk=application.pk)
            self.move(states.UNDER_REVIEW, self.third, reason="Reconsidered at the applicant's request.", days=4)
            self.move(states.APPROVED, self.third, reason="Income is confirmed.", metadata=self.terms(), hours=4)
            return self.follow_up()
        return None

    def accept(self, terms: Any) -> None:
        today = acceptance.terms_today(terms, now=self.wait(days=0.3 + 4 * self.draw.random()))
        if today is not None:
            agreed: Any = {"terms_sha256": today.terms_sha256, "actor": self.owner, "now": self.at}
            self.application = acceptance.accept(str(self.application.pk), **agreed)

    def terms(self) -> dict[str, Any]:
        terms = proposed_terms(self.application)
        if self.application.proposed_decision is None:
            lowest, highest = float(self.offer.apr_min_percent or 0), float(self.offer.apr_max_percent or 0)
            terms["rate_percent"] = round(lowest + (highest - lowest) * (1 - self.merit) * 0.8, 1)
        return {"terms": terms}

    def reasons(self) -> list[Any]:
        score = self.application.decision_score
        data: Any = self.application.application_data
        signs = {
            "obligations_excessive": data["monthly_debt_cents"] > 0.35 * data["monthly_income_cents"],
            "obligations_delinquent": data["missed_payments"] > 0,
            "employment_short": data["months_employed"] < 12,
            "inquiries_stated": data["inquiries"] > 3,
        }
        named = score.reasons if score is not None else [code for code, is_so in signs.items() if is_so]
        return list(named[:3]) or ["income_insufficient"]


FORGOTTEN = "The branch received this application by phone."


def _as_staff(person: Any) -> Actor:
    return Actor(user=person, credential="admin", second_factor=True)


def ask_again(application: Application, at: datetime) -> None:
    statement = "My income has risen since; the pay stubs show it."
    actor = Actor(user=application.consumer, credential="demo")
    notices.request_review(str(application.pk), statement=statement, actor=actor, now=at)


def _fill_consoles(staff: Any, rosa: Any, tom: Any, *, now: datetime) -> None:
    """Add assignments, proposals, and comments to open applications, so that the reviewers' lists are not empty."""
    at = now - timedelta(hours=2)
    waiting = Application.objects.filter(status=states.UNDER_REVIEW, counteroffer_moves=0, notes=None, proposals=None)
    open_ = list(waiting.order_by("id"))
    open_.sort(
        key=lambda application: (application.requested_documents.count(), application.names_scoring_model), reverse=True
    )
    approved, rejected = open_[-1], open_[-2]
    terms = {"rate_percent": approved.offer_snapshot["apr_max_percent"]}
    approval: dict[str, Any] = {"reason": "Income is confirmed.", "metadata": {"terms": terms}}
    propose(approved, states.APPROVED, actor=_as_staff(rosa), now=at, **approval)
    rejection: dict[str, Any] = {"reason": "Length of employment.", "metadata": {"reasons": ["employment_short"]}}
    propose(rejected, states.REJECTED, actor=_as_staff(tom), now=at, **rejection)
    for application, assignee in zip(open_, (staff, staff, rosa, tom), strict=False):
        Assignment.objects.create(**named(application), assignee=assignee, assigned_by=staff, assigned_at=at)
    words = ("Can you check the pay stubs?", "The employer called back, and confirmed the statements.")
    for application, author, mentioned, text in zip(open_, (rosa, tom), (staff, None), words, strict=False):
        Note.objects.create(**named(application), author=author, mentioned=mentioned, text=text, at=at)
    rejections = Application.objects.filter(status=states.REJECTED, updated_at__lt=at, review_requests=None)
    ask_again(rejections.latest("updated_at"), at)


def _person(facts: list[str]) -> dict[str, Any]:
    name, street, city, region, postal_code, born, *language = facts
    address = {"line1": street, "line2": None, "city": city, "region": region, "postal_code": postal_code}
    return {
        "legal_name": name,
        "email": f"{name.lower().replace(' ', '.')}@example.com",
        "phone": f"+1515555{101 + DATA['people'].index(facts):04d}",
        "date_of_birth": born,
        "address": {**address, "country": "US"},
        "language": "es" if language else "en-US",
    }
