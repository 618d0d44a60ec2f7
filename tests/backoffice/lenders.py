"""Create two lenders with one record of every kind each, and a client of every role."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from urllib.parse import quote
from uuid import uuid4

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import ForeignKey
from django.urls import reverse
from django.utils import timezone

from config.core.casework import Assignment, DataAccess, Note, ReplyTemplate
from config.core.lifecycle import Actor
from config.core.log_in import SECOND_FACTOR
from credit.documents.requests import request_documents
from credit.documents.storage import store_file
from credit.models import (
    Applicant,
    Application,
    ApplicationHistory,
    ApplicationRevision,
    Clock,
    Counteroffer,
    DocumentFile,
    Notice,
    Proposal,
    ProviderMember,
    RequestedDocument,
    ReviewRequest,
)
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.document_support import PDF
from tests.credit.scoring.past import model_of, version_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory
from tests.second_factors import authenticator_of

ROLES = (ProviderMember.OWNER, ProviderMember.REVIEWER, ProviderMember.READER)


def console_client(person):
    """Return a client that is logged in with a second factor."""
    client = backoffice_client(person)
    authenticator = person.authenticator_set.first() or authenticator_of(person)
    session = client.session
    session[SECOND_FACTOR] = authenticator.pk
    session.save()
    return client


@dataclass
class Lender:
    """A lender and its records. Only this lender's texts contain `mark`."""

    mark: str
    number: int
    people: dict = field(default_factory=dict)
    records: dict = field(default_factory=dict)  # The dictionary has a record of each model, by label.
    parts: dict = field(default_factory=dict)  # These values are for the other parts of URLs.

    @property
    def application(self):
        return self.records["credit.application"]

    @property
    def names(self):
        """Return every text that would identify a record of this lender."""
        ids = {str(record.pk) for record in self.records.values()} | {*map(str, self.parts.values())}
        return {self.mark, f"A-{str(self.application.pk).replace('-', '')[-8:].upper()}"} | {
            item for item in ids if len(item) > 20
        }


def lender_of(mark, number):
    lender, now = Lender(mark, number), timezone.now()
    owner = UserFactory(username=f"owner-{mark}")
    owner.groups.add(Group.objects.get(name="Lender"))
    provider = ProviderFactory(id=str(number), owner=owner, name=f"Bank {mark}")
    lender.people["owner"] = owner
    for role in ROLES[1:]:
        lender.people[role] = UserFactory(username=f"{role}-{mark}")
        ProviderMember.objects.create(provider=provider, user=lender.people[role], role=role)
    consumer = UserFactory(username=f"applicant-{mark}", email=f"{mark}@example.test", first_name=mark)
    offer = OfferFactory(provider=provider, name=f"Offer {mark}", apr_min_percent=9.9)
    model = model_of(provider)
    model.name = f"Card {mark}"
    model.save()
    version = version_of(model)
    data = {"amount_cents": 100_000, "term_months": 12, "employer": mark}
    sent = {"consumer": consumer, "provider_id": number, "offer_id": offer.pk, "application_data": data}
    application = ApplicationFactory(**sent)
    mine = Actor(user=consumer, credential="jwt:x")
    application.transition_to("submitted", actor=mine, changed_by=mark, now=now - timedelta(days=3))
    reviewer = Actor(user=lender.people["reviewer"], credential="jwt:y", second_factor=True)
    application.transition_to("under_review", actor=reviewer, now=now - timedelta(days=2), reason=mark)
    request_documents(application, [f"Payslip {mark}"], by=reviewer.user, now=now)
    document = RequestedDocument.objects.get(application=application)
    stored = store_file(PDF, now=now)
    kept = DocumentFile.objects.create(
        document=document, stored=stored, name=f"{mark}.pdf", content_type="application/pdf", size_bytes=len(PDF),
        sha256=sha256(PDF).hexdigest(), received_at=now, principal=consumer, credential="jwt:x",
    )  # fmt: skip
    revision = ApplicationRevision.objects.create(
        application=application, status="submitted", sha256="1" * 64, changes={"employer": [None, mark]},
        updated_by=mark, changed_at=now, principal=consumer, credential="jwt:x",
    )  # fmt: skip
    proposal = Proposal.objects.create(
        application=application, to="approved", reason=mark, seen=application.reviewed_state,
        proposed_by=reviewer.user, proposed_at=now,
    )  # fmt: skip
    clock = Clock.objects.filter(application=application).first() or Clock.start(application, Clock.REVIEW, now=now)
    review_request = ReviewRequest.objects.create(
        application=application, statement=mark, requested_at=now, due_at=now + timedelta(days=30)
    )
    notice = Notice.objects.create(
        application=application, provider_id=number, kind="denial", due_at=now + timedelta(days=30), updated_at=now,
        status="due", look_at=now, created_at=now, profile="us", html=f"<main>{mark}</main>",
        move=ApplicationHistory.objects.filter(application=application).last(),
    )  # fmt: skip
    named = {"kind": "credit.application", "record_id": str(application.pk), "provider": str(number)}
    note = Note.objects.create(
        **named, author=reviewer.user, mentioned=lender.people["owner"], text=f"Note {mark}", at=now
    )
    work = Assignment.objects.create(**named, assignee=owner, assigned_by=reviewer.user, assigned_at=now)
    seen = DataAccess.objects.create(
        **named, viewer=reviewer.user, subject=consumer, action="page", at=now, details={"query": mark}
    )
    text = ReplyTemplate.objects.create(provider=str(number), use="reason", name=f"Text {mark}", text=mark)
    records = (
        application, ApplicationHistory.objects.filter(application=application).first(), revision, proposal, clock,
        review_request, notice, offer, provider, model, version, note, work, seen, text, consumer,
        Applicant.objects.get(pk=consumer.pk),
    )  # fmt: skip
    lender.records = {record._meta.label_lower: record for record in records}
    lender.parts = {"document_id": document.pk, "file_id": kept.pk, "proposal_id": proposal.pk}
    return lender


class Clients(dict):
    """A client of each role, by its name: "superuser", "Support", "nobody", "A reader"."""

    def __init__(self, **lenders):
        super().__init__()
        self.lenders = lenders

    def __missing__(self, role):
        name, _, seat = role.partition(" ")
        if seat:
            person = self.lenders[name].people[seat]
        elif role == "superuser":
            person = UserFactory(is_staff=True, is_superuser=True, username="boss")
        else:
            person = UserFactory(username="nobody") if role == "nobody" else staff_of(role, username=role.lower())
        self[role] = console_client(person)
        return self[role]


def models_shown():
    return [model for model in apps.get_models() if admin.site.is_registered(model)]


def _filled(route, pk, parts):
    """Return a route with values for its parameters."""
    values = {
        "object_id": quote(str(pk), safe=""), "to": "approved", "verb": "confirm", "name": "unmask", "kind": "csv",
        **{name: str(value) for name, value in parts.items()},
    }  # fmt: skip
    values.setdefault("counteroffer_id", str(uuid4()))
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda at: values.get(at[1], str(uuid4())), route)


def addresses_of(model, pk, parts):
    """Yield every URL of a model's admin. The URLs of a record have this primary key."""
    options = model._meta
    model_admin = admin.site.get_model_admin(model)
    start = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
    for page in model_admin.get_urls():
        route = str(page.pattern)
        if not route.startswith("^"):
            yield f"{start}{_filled(route, pk, parts)}"


def questions_about(model, foreign, term):
    """Yield lists of a model with queries for another lender's records: `term` identifies the lender."""
    options = model._meta
    start = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
    shown = admin.site.get_model_admin(model)
    yield f"{start}?q={quote(term)}"
    yield f"{start}?q={quote(term)}&_popup=1&_to_field=id"
    yield f"{start}?provider={quote(term)}"
    for name in ("pk", "id", "provider_id", "provider", "kind", "record_id", "application__provider_id"):
        yield f"{start}?{name}={quote(term)}"
        yield f"{start}?{name}__exact={quote(term)}&o=1"
    for column in range(1, len(shown.list_display) + 1):
        yield f"{start}?q={quote(term)}&o=-{column}"
    for field_ in options.get_fields():
        if isinstance(field_, ForeignKey):
            yield f"{start}?{field_.name}__id__exact={quote(term)}"
            text = f"app_label={options.app_label}&model_name={options.model_name}&field_name={field_.name}"
            yield f"/admin/autocomplete/?term={quote(term)}&{text}"


def rows_of_lender(lender):
    """Return the stored values of every record of a lender that could be changed."""
    rows_before = [
        list(type(record)._default_manager.filter(pk=record.pk).values()) for record in lender.records.values()
    ]
    more = (
        list(item.objects.filter(**{path: lender.application}).order_by("pk").values())
        for item, path in (
            (ApplicationHistory, "application"),
            (Proposal, "application"),
            (RequestedDocument, "application"),
            (Counteroffer, "application"),
        )
    )
    of_record = {"record_id": str(lender.application.pk)}
    about = [list(item.objects.filter(**of_record).order_by("pk").values()) for item in (Note, Assignment)]
    members = list(ProviderMember.objects.filter(provider=str(lender.number)).order_by("pk").values())
    texts = list(ReplyTemplate.objects.filter(provider=str(lender.number)).order_by("pk").values())
    applications = Application.objects.filter(provider_id=lender.number).count()
    return [rows_before, *more, about, members, texts, applications]
