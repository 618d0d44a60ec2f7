"""Providers, offers, applications, and the rows that tell an application's story."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Cast
from django.utils.functional import cached_property

from config.api.permissions import InsufficientScope
from config.api.prepared import insert, update
from config.core.context import request_id
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import JsonTextField, canonical_json, rfc3339
from config.core.lifecycle import (
    Actor,
    ReviewerRequired,
    Role,
    SecondFactorRequired,
    StatefulModel,
    StatusHistory,
    Transition,
)
from config.core.permissions import holds
from config.webhooks.events import record_event
from credit.document_models import DocumentFile, StoredFile
from credit.errors import InvalidApplicationTransition, ReasonsRequired
from credit.machine import (
    APPROVED,
    DECIDED,
    DRAFT,
    EXPIRED,
    FROZEN,
    MACHINE,
    PENDING_DOCUMENTS,
    REJECTED,
    SUBMITTED,
    UNDER_REVIEW,
    WITHDRAWN,
)
from credit.reasons import OTHER, REASONS, reasons_of
from credit.scoring.models import ModelVersion, ModelVersionHistory, Score, ScoreFacts, ScoringModel

# Django finds an app's models here.
__all__ = ["DocumentFile", "ModelVersion", "ModelVersionHistory", "Score", "ScoreFacts", "ScoringModel", "StoredFile"]

REVIEW_PERMISSION = "credit.review_application"


class Provider(models.Model):
    """A provider id and the account that used it first, which is one of its members.

    Members review the applications that name it. What was applied for before anybody used the id was meant for the
    provider of another marketplace: it stays out of their reach.
    """

    id = models.CharField(primary_key=True, max_length=255)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="providers")
    members: Any = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="ProviderMember", related_name="provider_memberships"
    )
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.id


class ProviderMember(models.Model):
    """An account that acts for a provider: it may make offers under its id and review its applications."""

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "user"], name="credit_provider_member")]

    @property
    def is_owner(self) -> bool:
        return self.user_id == self.provider.owner_id

    def __str__(self) -> str:
        return f"{self.user} for {self.provider_id}"


class Offer(models.Model):
    """What a provider offers. Percentages are per year, amounts are cents, terms are months."""

    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="offers", db_index=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="offers")
    name = models.CharField(max_length=255)
    description = models.TextField(blank=True, default="")
    product_type = models.CharField(max_length=255)
    apr_min_percent = models.FloatField(null=True)
    apr_max_percent = models.FloatField(null=True)
    loan_amount_min_cents = models.BigIntegerField(null=True)
    loan_amount_max_cents = models.BigIntegerField(null=True)
    term_options_months = JsonTextField(null=True)
    nationwide = models.BooleanField(null=True)
    included_states = JsonTextField(null=True)
    excluded_states = JsonTextField(null=True)
    customer_segment = models.CharField(max_length=255, null=True)  # noqa: DJ001  null is an answer of the interface
    blockscore_model_id = models.BigIntegerField(null=True)
    ab_test_variant = models.CharField(max_length=255, null=True)  # noqa: DJ001
    ab_test_allocation = models.IntegerField(null=True)
    is_active = models.BooleanField(default=True)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    # What a body may set and a new version replaces.
    TERMS = (
        "name", "description", "product_type", "apr_min_percent", "apr_max_percent", "loan_amount_min_cents",
        "loan_amount_max_cents", "term_options_months", "nationwide", "included_states", "excluded_states",
        "customer_segment", "blockscore_model_id", "ab_test_variant", "ab_test_allocation",
    )  # fmt: skip

    class Meta:
        indexes = [
            models.Index(fields=["provider", "-id"], name="credit_offer_provider"),
            models.Index(fields=["-id"], condition=Q(is_active=True), name="credit_offer_active"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.provider_id})"

    def terms(self) -> dict[str, Any]:
        return {"provider_id": self.provider_id, **{name: getattr(self, name) for name in self.TERMS}}


class Application(StatefulModel):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    consumer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="applications", db_index=False
    )
    # Numbers, not references: an offer of another marketplace may be applied to, too.
    offer_id = models.BigIntegerField()
    provider_id = models.BigIntegerField()
    status = models.CharField(
        max_length=32, choices=[(status, status.replace("_", " ")) for status in MACHINE.statuses]
    )
    status_reason = models.TextField(null=True)  # noqa: DJ001
    initial_status = models.CharField(max_length=32)
    application_data = JsonTextField(null=True)
    data_changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    notes = models.TextField(null=True)  # noqa: DJ001
    submitted_at = models.DateTimeField(null=True)
    reviewed_at = models.DateTimeField(null=True)
    reviewed_by = models.CharField(max_length=255, null=True)  # noqa: DJ001
    offer_version = models.IntegerField(null=True)
    offer_snapshot = JsonTextField(null=True)
    accepted_at = models.DateTimeField(null=True, help_text="When the consumer took the approval up.")
    amount_cents = models.BigIntegerField(null=True, help_text="As `application_data` says, for lists to show.")
    created_at = models.DateTimeField()

    machine = MACHINE
    invalid_transition = InvalidApplicationTransition

    class Meta:
        indexes = [
            models.Index(fields=["consumer", "-id"], name="credit_app_consumer"),
            models.Index(fields=["consumer", "status", "-id"], name="credit_app_consumer_status"),
            models.Index(fields=["status", "updated_at"], name="credit_app_status_age"),
            # The reviewers' queue, oldest first: small, because it holds what waits and nothing else.
            models.Index(
                fields=["submitted_at", "id"],
                condition=Q(status__in=(SUBMITTED, UNDER_REVIEW)),
                name="credit_app_review_queue",
            ),
            # A provider's inbox, oldest first.
            models.Index(
                fields=["provider_id", "submitted_at", "id"],
                condition=Q(submitted_at__isnull=False),
                name="credit_app_inbox",
            ),
        ]
        constraints = [models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="credit_app_status_known")]
        permissions = [("review_application", "Can review applications")]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_frozen(self) -> bool:
        return self.status in FROZEN

    def is_reviewed_by(self, user: Any) -> bool:
        """Say whether `user` may decide about this application: by permission, or as the provider's member."""
        return user.has_perm(REVIEW_PERMISSION) or self.is_sent_to(user)

    def is_sent_to(self, user: Any) -> bool:
        """Say whether `user` acts for the provider that this was sent to."""
        return ProviderMember.objects.filter(
            provider_id=str(self.provider_id), provider__created_at__lte=self.created_at, user=user
        ).exists()

    @classmethod
    def visible_to(cls, user_id: Any) -> Q:
        """Select what an account may read: its own, and what it reviews (`is_reviewed_by`) once that has left draft."""
        members = ProviderMember.objects.filter(
            user_id=user_id,
            provider_id=Cast(OuterRef("provider_id"), models.CharField()),
            provider__created_at__lte=OuterRef("created_at"),
        )
        return Q(consumer_id=user_id) | (~Q(status=DRAFT) & (holds(user_id, REVIEW_PERMISSION) | Q(Exists(members))))

    def requestable(self) -> list[str]:
        """Leave out the withdrawal of what was taken up."""
        return [to for to in super().requestable() if to != WITHDRAWN or self.accepted_at is None]

    def check_transition(self, to: str, actor: Actor) -> ApiError | None:
        """Return the error that this transition meets for `actor` now under `REVIEW_POLICY`, None when it may be made.

        `open` is the specification to the letter: whoever may see an application may move it. `reviewed` gives
        decisions to reviewers. `four_eyes` demands besides that a reviewer is not the consumer, and that whoever
        approves or rejects is not who last changed the data; that it takes two of them is `decisions`' business. Under
        each of them a credential that is limited to scopes makes the consumer's transitions alone.
        """
        role = MACHINE.moves_from(self.status).get(to)
        is_taken_up = self.accepted_at is not None and to in {WITHDRAWN, EXPIRED}
        if role is None or is_taken_up or (role is Role.SYSTEM) != actor.is_system:
            return InvalidApplicationTransition.between(self, to)
        if actor.is_system:
            return None
        is_consumer = actor.user.pk == self.consumer_id
        if actor.limited and (role is Role.REVIEWER or not is_consumer):
            return InsufficientScope(
                "No scope lets anybody decide: this needs the account's own log-in, or an API key without a scope list."
            )
        if settings.REVIEW_POLICY == "open" or (is_consumer and role in {Role.OWNER, Role.EITHER}):
            return None if settings.REVIEW_POLICY == "open" else self.check_documents(to)
        if role is Role.OWNER:
            return ReviewerRequired("Only the consumer may make this move.")
        refusal = self.check_reviewer(actor)
        is_last_author = to in DECIDED and actor.user.pk == self.data_changed_by_id
        if refusal is None and is_last_author and settings.REVIEW_POLICY == "four_eyes":
            refusal = ReviewerRequired("Whoever changed the application's data last cannot decide about it.")
        return refusal

    def check_reviewer(self, actor: Actor) -> ApiError | None:
        """Return why `actor` may not review this application as they are logged in, None when they may."""
        if not self.is_reviewed_by(actor.user):
            return ReviewerRequired()
        # A provider's own members have no way to add an authenticator: they decide with their keys.
        if actor.lacks_second_factor and (actor.user.is_staff or actor.user.has_perm(REVIEW_PERMISSION)):
            return SecondFactorRequired()
        if settings.REVIEW_POLICY == "four_eyes" and actor.user.pk == self.consumer_id:
            return ReviewerRequired("Nobody reviews their own application.")
        return None

    def check_documents(self, to: str) -> ApiError | None:
        """Return why the consumer cannot hand the application back yet: what was asked for and has no file."""
        if (self.status, to) != (PENDING_DOCUMENTS, UNDER_REVIEW):
            return None
        missing = self.requested_documents.filter(status=RequestedDocument.REQUESTED)
        names = [document.name for document in missing]
        if not names:
            return None
        allowed = [one for one in self.requestable() if one != to]
        return InvalidApplicationTransition(
            f"Hand in first what was asked for: {', '.join(names)}.",
            details={"from": self.status, "to": to, "allowed": allowed, "documents": names},
        )

    def derived_columns(self, transition: Transition) -> dict[str, Any]:
        columns: dict[str, Any] = {"status_reason": transition.reason}
        if transition.to == SUBMITTED and self.submitted_at is None:
            columns |= {"submitted_at": transition.now, **self.pinned_offer()}
        if transition.to in DECIDED:
            columns |= {"reviewed_at": transition.now, "reviewed_by": transition.changed_by}
        if transition.to == REJECTED and settings.REVIEW_POLICY != "open" and not reasons_of(transition.metadata):
            raise ReasonsRequired(details={"codes": [*REASONS, OTHER]})
        if self.accepted_at and transition.to == UNDER_REVIEW:
            if not transition.reason:
                raise ReasonsRequired("What has been taken up is reopened with a `reason`.")
            columns["accepted_at"] = None
        return columns

    def write_transition(self, as_read: Mapping[str, Any], columns: Mapping[str, Any]) -> int:
        """Set the columns with a prepared statement: applications are what changes all day."""
        if self.status == APPROVED:
            as_read = {**as_read, "updated_at": self.updated_at}  # it may have been taken up meanwhile
        return update(Application, where=as_read, values=columns)

    def lost_race(self, to: str) -> Exception:
        """Return the error of a transition that somebody else's, or the acceptance, came before."""
        self.refresh_from_db(fields=["accepted_at", "updated_at"])
        return super().lost_race(to)

    def write_history(self, row: "ApplicationHistory") -> None:
        insert(row)

    def record_transition(self, row: "ApplicationHistory") -> None:
        """Write the event, and for a decision what is to be anchored."""
        is_decision = row.status in DECIDED or (row.previous_status in DECIDED and row.status == UNDER_REVIEW)
        if is_decision and settings.ANCHOR_DECISIONS:
            DecisionAnchor(history=row, application=self, record=self.decision_record(row), due_at=row.changed_at).save(
                force_insert=True
            )
        record_application_event(row.status, self, now=row.changed_at)

    @property
    def data_sha256(self) -> str:
        """Return the SHA-256 of the data's canonical JSON, in hex: what a decision is bound to."""
        return sha256(canonical_json(self.application_data)).hexdigest()

    @property
    def reviewed_state(self) -> str:
        """Return what a proposed decision is bound to, as the back office writes it, too."""
        return f"{self.status}:{self.moves}:{self.data_sha256}"

    @property
    def terms_sha256(self) -> str:
        """Return the SHA-256 of the pinned terms' canonical JSON, in hex; of `null` where none are pinned."""
        return sha256(canonical_json(self.offer_snapshot)).hexdigest()

    def record_about(self, **members: Any) -> str:
        """Return the canonical JSON of a record about this application as it is now, for the ledger."""
        record = {
            "application_id": str(self.pk),
            "consumer_id": str(self.consumer_id),
            "offer_id": self.offer_id,
            "offer_version": self.offer_version,
            "offer_terms_sha256": self.terms_sha256,
            "provider_id": self.provider_id,
            "request_id": request_id.get() or None,
            **members,
        }
        return canonical_json(record).decode()

    def decision_record(self, row: StatusHistory) -> str:
        """Return the canonical JSON of a decision: what is anchored, and what its proof proves.

        Version 1 had neither `record_version` nor `reasons` and `offer_terms_sha256`.
        """
        return self.record_about(
            record_version=2,
            application_data_sha256=self.data_sha256,
            decision=row.status if row.status in DECIDED else "reopened",
            previous_status=row.previous_status,
            position=row.position,
            changed_by=row.changed_by,
            reason=row.reason,
            reasons=reasons_of(row.metadata) if row.status == REJECTED else [],
            decided_at=rfc3339(row.changed_at),
        )

    @cached_property
    def provider_owner_id(self) -> int | None:
        """Return the account that owns the provider and is told what happens; None where there is none."""
        return self.provider_owner(str(self.provider_id), self.created_at).values_list("owner_id", flat=True).first()

    @staticmethod
    def provider_owner(provider_id: Any, created_at: Any) -> models.QuerySet[Provider]:
        """Select the provider that an application of that moment was sent to."""
        return Provider.objects.filter(pk=provider_id, created_at__lte=created_at)

    def pinned_offer(self) -> dict[str, Any]:
        """Return the columns that keep the listed offer as it is now; none for an offer unknown here."""
        offer = Offer.objects.filter(pk=self.offer_id).first()
        return {} if offer is None else {"offer_version": offer.version, "offer_snapshot": offer.terms()}


class ApplicationHistory(StatusHistory):
    """A move of an application. Append-only, in the database too."""

    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(StatusHistory.Meta):
        verbose_name_plural = "application history"
        constraints = [
            models.UniqueConstraint(fields=["application", "position"], name="credit_history_application_position")
        ]


class ApplicationRevision(models.Model):
    """A change of `application_data`: who, when, and the SHA-256 of the canonical JSON. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="revisions")
    status = models.CharField(max_length=32, help_text="Where the application was when its data changed.")
    sha256 = models.CharField(max_length=64)
    changes = JsonTextField(null=True, help_text="Which members changed, from what to what.")
    updated_by = models.CharField(max_length=255)
    changed_at = models.DateTimeField()
    principal = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    credential = models.CharField(max_length=80)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.sha256


class Acceptance(models.Model):
    """An approval that the consumer took up, and its terms. Append-only: after a reopening there may be another."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="acceptances")
    terms_sha256 = models.CharField(max_length=64)
    accepted_at = models.DateTimeField()
    principal = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    credential = models.CharField(max_length=80)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.terms_sha256


class RequestedDocument(models.Model):
    """A document that a reviewer asked for, until it has been looked at and accepted."""

    REQUESTED, RECEIVED, ACCEPTED = "requested", "received", "accepted"
    STATUSES = (REQUESTED, RECEIVED, ACCEPTED)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        Application, on_delete=models.PROTECT, related_name="requested_documents", db_index=False
    )
    name = models.CharField(max_length=255)
    status = models.CharField(max_length=16, default=REQUESTED)
    reason = models.TextField(blank=True, default="", help_text="Why it is asked for again.")
    requested_at = models.DateTimeField()
    received_at = models.DateTimeField(null=True)
    accepted_at = models.DateTimeField(null=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["application", "name"], name="credit_document_once"),
            models.CheckConstraint(
                condition=Q(status__in=("requested", "received", "accepted")), name="credit_document_status_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def kept_files(self) -> list[DocumentFile]:
        """Return the files that were handed in, without what was refused as infected."""
        return [file for file in self.files.all() if not file.infection]


class DecisionAnchor(models.Model):
    """What is on its way into the ledger: a decision, an acceptance, or a published version of a scoring model.

    It is written with what it is about, and completed once it is anchored.

    `record` is the text that was anchored, byte for byte. `proof` is the ledger's answer and `proof_file` the file
    (C2SP tlog-proof) with which anybody can check the record offline.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    history = models.OneToOneField(ApplicationHistory, null=True, on_delete=models.PROTECT, related_name="anchor")
    acceptance = models.OneToOneField(Acceptance, null=True, on_delete=models.PROTECT, related_name="anchor")
    publication = models.OneToOneField(ModelVersionHistory, null=True, on_delete=models.PROTECT, related_name="anchor")
    application = models.ForeignKey(Application, null=True, on_delete=models.PROTECT, related_name="anchors")
    record = models.TextField()
    due_at = models.DateTimeField(help_text="When to try next.")
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=255, blank=True)
    anchored_at = models.DateTimeField(null=True)
    block_number = models.BigIntegerField(null=True)
    proof = JsonTextField(null=True)
    proof_file = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["due_at"], condition=Q(anchored_at__isnull=True), name="credit_anchor_due")]
        constraints = [
            models.CheckConstraint(
                condition=Q(history__isnull=False, acceptance__isnull=True, publication__isnull=True)
                | Q(history__isnull=True, acceptance__isnull=False, publication__isnull=True)
                | Q(history__isnull=True, acceptance__isnull=True, publication__isnull=False, application__isnull=True),
                name="credit_anchor_of_one",
            )
        ]

    def __str__(self) -> str:
        return self.record_sha256

    @property
    def subject_id(self) -> Any:
        """Return the account whose record it is: the consumer's, or that of whoever published a version."""
        about: Any = self.publication or self.application
        return about.principal_id if self.publication is not None else about.consumer_id

    @property
    def report_type(self) -> str:
        """Return what the ledger keeps the record as."""
        if self.publication_id is not None:
            return "scoring_model_version"
        return "application_decision" if self.acceptance_id is None else "application_acceptance"

    @property
    def status(self) -> str:
        return "anchored" if self.anchored_at else "pending"

    @property
    def kept_proof_file(self) -> str | None:
        return self.proof_file or None

    @property
    def record_sha256(self) -> str:
        """Return the hash under which the ledger knows the record."""
        return sha256(self.record.encode()).hexdigest()


def record_application_event(verb: str, application: Application, *, now: datetime, **members: Any) -> None:
    """Tell the consumer, and from the submission on the provider's owner, too; `members` are added to the object.

    What was begun as submitted or later has that status for the provider's first event.
    """
    about = {
        "application_id": str(application.id),
        "status": application.status,
        "offer_id": application.offer_id,
        "provider_id": application.provider_id,
        **members,
    }
    record_event(f"application.{verb}", account_id=application.consumer_id, now=now, **about)
    if application.submitted_at is None:
        return
    owner_id = application.provider_owner_id
    if owner_id is not None and owner_id != application.consumer_id:
        verb = application.status if verb == "created" else verb
        record_event(f"application.{verb}", account_id=owner_id, now=now, **about)
