"""Providers, offers, applications, and the rows that tell an application's story."""

from datetime import datetime
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.api.documents import DocumentField, canonical_json
from config.api.ids import uuid7
from config.api.renderers import rfc3339
from config.lifecycle import Actor, LostRace, Move, StatusHistory, write_move
from config.webhooks.events import record_event
from credit.machine import DECIDED, FROZEN, MACHINE, SUBMITTED, UNDER_REVIEW
from credit.policy import InvalidApplicationTransition, refusal_of


class Provider(models.Model):
    """A provider id and the account that used it first; members may review applications that name it."""

    id = models.CharField(primary_key=True, max_length=255)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="providers")
    members: Any = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="ProviderMember", related_name="provider_memberships"
    )
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        """Show the id."""
        return self.id


class ProviderMember(models.Model):
    """An account that acts for a provider: it may make offers under its id and review its applications."""

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "user"], name="credit_provider_member")]

    def __str__(self) -> str:
        """Show who acts for whom."""
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
    term_options_months = DocumentField(null=True)
    nationwide = models.BooleanField(null=True)
    included_states = DocumentField(null=True)
    excluded_states = DocumentField(null=True)
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
        """Show the name and the provider."""
        return f"{self.name} ({self.provider_id})"

    def terms(self) -> dict[str, Any]:
        """Return what was offered, for an application to pin."""
        return {"provider_id": self.provider_id, **{name: getattr(self, name) for name in self.TERMS}}


class Application(models.Model):
    """One person's application to one offer."""

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
    moves = models.PositiveIntegerField(default=0, help_text="How often the status has changed.")
    application_data = DocumentField(null=True)
    data_changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    notes = models.TextField(null=True)  # noqa: DJ001
    submitted_at = models.DateTimeField(null=True)
    reviewed_at = models.DateTimeField(null=True)
    reviewed_by = models.CharField(max_length=255, null=True)  # noqa: DJ001
    offer_version = models.IntegerField(null=True)
    offer_snapshot = DocumentField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

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
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="credit_app_status_known"),
        ]
        permissions = [("review_application", "Can review applications")]

    def __str__(self) -> str:
        """Name the application by its id."""
        return str(self.id)

    @property
    def is_frozen(self) -> bool:
        """Say whether `application_data` can no longer change."""
        return self.status in FROZEN

    def is_reviewed_by(self, user: Any) -> bool:
        """Say whether `user` may decide about this application: by permission, or as the provider's member."""
        return (
            user.has_perm("credit.review_application")
            or ProviderMember.objects.filter(provider_id=str(self.provider_id), user=user).exists()
        )

    def is_visible_to(self, user: Any) -> bool:
        """Say whether `user` may read this: the consumer always, a reviewer once it has left `draft`."""
        return self.consumer_id == user.pk or (self.status != "draft" and self.is_reviewed_by(user))

    def move_to(
        self,
        to: str,
        *,
        actor: Actor,
        changed_by: str,
        now: datetime,
        reason: str | None = None,
        metadata: Any = None,
    ) -> "ApplicationHistory":
        """Change the status, with its history row and its event: the only place that does.

        Raises InvalidApplicationTransition for a move that the table lacks, that is not this actor's, or that somebody
        else made first; ReviewerRequired for a decision that the review policy gives to somebody else.
        """
        refusal = refusal_of(self, to, actor)
        if refusal is not None:
            raise refusal
        now = max(now, self.updated_at)  # a clock that was set back must not turn the story around
        try:
            row = write_move(
                self,
                Move(to=to, actor=actor, changed_by=changed_by, now=now, reason=reason, metadata=metadata),
                history=ApplicationHistory,
                parent="application",
                changes=self._derived_columns(to, changed_by, reason, now),
            )
        except LostRace as race:
            self.refresh_from_db(fields=["status", "moves"])
            raise InvalidApplicationTransition.between(self, to) from race
        is_decision = to in DECIDED or (row.previous_status in DECIDED and to == UNDER_REVIEW)
        if is_decision and settings.ANCHOR_DECISIONS:
            seal = DecisionSeal(history=row, application=self, record=self.decision_record(row), due_at=now)
            seal.save(force_insert=True)
        record_application_event(to, self, now=now)
        return row

    def decision_record(self, row: StatusHistory) -> str:
        """Return the canonical JSON of a decision: what is anchored, and what its proof proves."""
        record = {
            "application_id": str(self.pk),
            "consumer_id": str(self.consumer_id),
            "offer_id": self.offer_id,
            "offer_version": self.offer_version,
            "provider_id": self.provider_id,
            "application_data_sha256": sha256(canonical_json(self.application_data)).hexdigest(),
            "decision": row.status if row.status in DECIDED else "reopened",
            "previous_status": row.previous_status,
            "position": row.position,
            "changed_by": row.changed_by,
            "reason": row.reason,
            "decided_at": rfc3339(row.changed_at),
        }
        return canonical_json(record).decode()

    def _derived_columns(self, to: str, changed_by: str, reason: str | None, now: datetime) -> dict[str, Any]:
        """Return the columns that follow from a move."""
        columns: dict[str, Any] = {"status_reason": reason}
        if to == SUBMITTED and self.submitted_at is None:
            columns |= {"submitted_at": now, **self.pinned_offer()}
        if to in DECIDED:
            columns |= {"reviewed_at": now, "reviewed_by": changed_by}
        return columns

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
    changes = DocumentField(null=True, help_text="Which members changed, from what to what.")
    updated_by = models.CharField(max_length=255)
    changed_at = models.DateTimeField()
    principal = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    credential = models.CharField(max_length=80)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        """Show the digest."""
        return self.sha256


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
        """Show the name."""
        return self.name


class DecisionSeal(models.Model):
    """A decision's way into the ledger: written with the decision, completed once it is anchored.

    `record` is the text that was anchored, byte for byte. `proof` is the ledger's answer and `proof_file` the file
    (C2SP tlog-proof) with which anybody can check the record offline.
    """

    history = models.OneToOneField(ApplicationHistory, primary_key=True, on_delete=models.PROTECT, related_name="seal")
    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="seals")
    record = models.TextField()
    due_at = models.DateTimeField(help_text="When to try next.")
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=255, blank=True)
    anchored_at = models.DateTimeField(null=True)
    block_number = models.BigIntegerField(null=True)
    proof = DocumentField(null=True)
    proof_file = models.TextField(blank=True)

    class Meta:
        ordering = ["history_id"]
        indexes = [models.Index(fields=["due_at"], condition=Q(anchored_at__isnull=True), name="credit_seal_due")]

    def __str__(self) -> str:
        """Show the record's digest."""
        return self.record_sha256

    @property
    def record_sha256(self) -> str:
        """Return the hash under which the ledger knows the record."""
        return sha256(self.record.encode()).hexdigest()


def record_application_event(verb: str, application: Application, *, now: datetime) -> None:
    """Write `application.<verb>` to the outbox."""
    record_event(
        f"application.{verb}",
        account_id=application.consumer_id,
        now=now,
        application_id=str(application.id),
        status=application.status,
        offer_id=application.offer_id,
        provider_id=application.provider_id,
    )
