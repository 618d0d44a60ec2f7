"""Simulate an applicant, a lender, and the worker on days that the caller chooses."""

from datetime import UTC, datetime, timedelta

from django.db import transaction

from config.core.digest import digest_of
from config.core.lifecycle import Actor
from config.mail.models import OutgoingMail
from credit.applications.services import expire_idle
from credit.core.applicants import Applicants
from credit.documents.requests import request_documents
from credit.models import Application, Consent, Notice
from credit.models.documents import RequestedDocument
from credit.models.notices import WITHOUT_CLOCK
from credit.notices import services
from credit.review.services import change_status
from credit.terms import counteroffers
from credit.terms.acceptance import accept, describe, form_to_read, provide
from tests.credit.applicants import PERSON
from tests.credit.eu.offers import CONTACT, EU_TERMS
from tests.credit.support import make_reviewer as reviewer
from tests.credit.terms.lending import SAID, listed
from tests.factories import ApplicationFactory, UserFactory

START = datetime(2028, 1, 31, 12, tzinfo=UTC)  # START is in a leap year, so that thirty days later is 1 March.
BECAUSE = ["income_insufficient"]
ADDRESS = "1 Bank Street\nPortland, OR 97201"
TERMS = {"amount_cents": 500_000, "rate_percent": 9, "term_months": 24}
WHOLE = {**PERSON, "language": "en"}


def provider_offer(**terms):
    """Return an offer of a lender with a name and an address for notices."""
    offer = listed(**terms)
    offer.provider.name, offer.provider.address, offer.provider.created_at = "Cedar Bank", ADDRESS, START
    offer.provider.save()
    return offer


def offer_of(profile):
    """Return an offer under a law, of a lender with the fields for notices."""
    if profile == "us":
        return provider_offer()
    offer = provider_offer(**EU_TERMS)
    for name, value in CONTACT.items():
        setattr(offer.provider, name, value)
    offer.provider.save()
    return offer


class World:
    """An application whose steps are methods, each with the number of days since START."""

    def __init__(self, offer=None, *, person=WHOLE, start=START, consumer=None):
        self.offer, self.start = offer or provider_offer(), start
        # A lender that was created after the application has no access to it.
        if self.offer.provider.created_at > start:
            self.offer.provider.created_at = start
            self.offer.provider.save()
        self.consumer = Actor(user=consumer or UserFactory(), credential="jwt")
        self.lender = Actor(user=self.offer.provider.owner, credential="api_key:test")
        self.other = Actor(user=reviewer(), credential="jwt", second_factor=True)
        pinned = {"offer_version": 1, "offer_snapshot": self.offer.terms()}
        self.pk = ApplicationFactory(
            consumer=self.consumer.user, provider_id=int(self.offer.provider_id), offer_id=self.offer.pk,
            application_data=SAID, applicants=None if person is None else Applicants.of([person]),
            created_at=start, updated_at=start, **pinned,
        ).pk  # fmt: skip

    @property
    def application(self):
        return Application.objects.get(pk=self.pk)

    @property
    def notice(self):
        """Return the newest notice that was not canceled, except notices with separate deadlines."""
        rows = Notice.objects.filter(application=self.pk).exclude(status="cancelled").exclude(kind__in=WITHOUT_CLOCK)
        return rows.order_by("-id").first()

    def at(self, day):
        return self.start + timedelta(days=day)

    def day_of(self, moment):
        return (moment - self.start) / timedelta(days=1)

    def move(self, day, to, *, by=None, metadata=None, reason=None):
        with transaction.atomic():
            change_status(
                str(self.pk), to, actor=by or self.lender, changed_by="x", reason=reason, metadata=metadata,
                now=self.at(day),
            )  # fmt: skip

    def submit(self, day):
        self.move(day, "submitted", by=self.consumer)
        self.move(day, "under_review")

    def approve(self, day, **metadata):
        self.move(day, "approved", metadata={"terms": TERMS, **metadata})

    def reject(self, day, reasons=BECAUSE, *, by=None, **metadata):
        self.move(day, "rejected", metadata={"reasons": reasons, **metadata}, by=by)

    def reopen(self, day):
        self.move(day, "under_review", reason="Anew.")

    def withdraw(self, day):
        self.move(day, "withdrawn", by=self.consumer)

    def request_documents(self, day, *names):
        with transaction.atomic():
            request_documents(self.application, names or ["Payslip"], by=self.lender.user, now=self.at(day))
            self.move(day, "pending_documents", reason="Please.")

    def supply(self, day):
        RequestedDocument.objects.filter(application=self.pk).update(status="received", received_at=self.at(day))
        self.move(day, "under_review", by=self.consumer)

    def expire(self, day):
        expire_idle(now=self.at(day))

    def counter(self, day, *, until=40, terms=TERMS, **members):
        with transaction.atomic():
            body = {"terms": terms, "reasons": BECAUSE, "expires_at": self.at(until).isoformat(), **members}
            self.move(day, "counteroffer", metadata=body)

    def silence(self, day):
        counteroffers.expire(now=self.at(day))

    def end_counter(self, day, end):
        offered = self.application.counteroffers.get(closed_at=None)
        actor = self.consumer if end is counteroffers.decline else self.lender
        end(str(self.pk), str(offered.pk), actor=actor, now=self.at(day))

    def decline(self, day):
        self.end_counter(day, counteroffers.decline)

    def take_back(self, day):
        self.end_counter(day, counteroffers.withdraw)

    def take_up(self, day, *, form_days=2):
        """Accept the terms; for EU credit, `form_days` after the information form was provided."""
        application, now = self.application, self.at(day)
        sha, form = describe(application, now=now).terms_sha256, None
        if application.conventions.is_eu:
            form = form_to_read(application, language="en", now=self.at(day - form_days))
            provide(application, form, medium="my", is_opened=True, now=self.at(day - form_days))
        form_sha = None if form is None else form.sha256
        accept(str(self.pk), terms_sha256=sha, precontract_sha256=form_sha, actor=self.consumer, now=now)

    def issue(self, day):
        """Run the worker until no notice is due."""
        done = {"ready": 1}
        while any(count for name, count in done.items() if name != "waiting"):
            done = services.issue_due(now=self.at(day))
        return done

    def open_notice(self, day):
        """Run the worker, then open the notice as an applicant who has consented to electronic notices."""
        if not Consent.is_given_by(self.consumer.user.pk):
            self.consent(day)
        self.issue(day)
        services.record_opening(self.notice, actor=self.consumer, now=self.at(day))

    def consent(self, day, language="en"):
        digest = digest_of(services.consent_text(language))
        services.give_consent(text_sha256=digest, language=language, actor=self.consumer, now=self.at(day))

    @staticmethod
    def mails(status="sent"):
        OutgoingMail.objects.update(status=status, due_at=None)
