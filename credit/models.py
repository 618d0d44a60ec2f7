"""Applications, and the rows that tell an application's story; the app's other models stand beside this file."""

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
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import JsonTextField, canonical_json
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
from credit.anchor_models import DecisionAnchor
from credit.document_models import DocumentFile, RequestedDocument, StoredFile
from credit.errors import InvalidApplicationTransition, ReasonsRequired
from credit.machine import (
    APPROVED,
    DECIDED,
    DRAFT,
    EXPIRED,
    IN_REVIEW,
    MACHINE,
    PENDING_DOCUMENTS,
    REJECTED,
    SUBMITTED,
    UNDER_REVIEW,
    WITHDRAWN,
)
from credit.offer_models import Offer, Provider, ProviderMember
from credit.reasons import OTHER, REASONS, reasons_of
from credit.records import decision_record
from credit.scoring.card import APPROVE, DECLINE
from credit.scoring.models import ModelVersion, ModelVersionHistory, Score, ScoreFacts, ScoringModel
from credit.scoring.scores import decision_scores, score_submitted

# Django finds an app's models here.
__all__ = [
    "Acceptance",
    "Application",
    "ApplicationHistory",
    "ApplicationRevision",
    "DecisionAnchor",
    "DocumentFile",
    "ModelVersion",
    "ModelVersionHistory",
    "Offer",
    "Provider",
    "ProviderMember",
    "RequestedDocument",
    "Score",
    "ScoreFacts",
    "ScoringModel",
    "StoredFile",
    "record_application_event",
]

REVIEW_PERMISSION = "credit.review_application"
# The transitions that a score may make by itself.
AUTOMATIC = frozenset({(SUBMITTED, UNDER_REVIEW), (UNDER_REVIEW, APPROVED), (UNDER_REVIEW, REJECTED)})
# What a score's outcome proposes; `refer` proposes nothing.
PROPOSALS = {APPROVE: APPROVED, DECLINE: REJECTED}


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
                fields=["submitted_at", "id"], condition=Q(status__in=IN_REVIEW), name="credit_app_review_queue"
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

    def is_reviewed_by(self, user: Any) -> bool:
        """Say whether `user` may decide about this application: by permission, or as the provider's member."""
        return user.has_perm(REVIEW_PERMISSION) or self.is_sent_to(user)

    def is_sent_to(self, user: Any) -> bool:
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
        if actor.user is None:
            return self.check_automatic(to) if actor.is_model else None
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

    def check_automatic(self, to: str) -> ApiError | None:
        """Return why the score cannot make this transition by itself, None when it may.

        What people have decided once is theirs. Under `four_eyes` a reviewer confirms that somebody is turned down.
        """
        if settings.DECISIONING != "automatic" or (self.status, to) not in AUTOMATIC or self.reviewed_at is not None:
            return ReviewerRequired()
        if self.proposed_decision is None or to in DECIDED - {self.proposed_decision}:
            return ReviewerRequired("The score proposes no such decision.")
        if to == REJECTED and settings.REVIEW_POLICY == "four_eyes":
            return ReviewerRequired("A reviewer has to confirm it.")
        return None

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
        if not (names := list(missing.values_list("name", flat=True))):
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
        if self.accepted_at and transition.to == UNDER_REVIEW:
            columns["accepted_at"] = None
        return columns

    def require_reasons(self, to: str, *, reason: str | None, metadata: Any) -> None:
        """Raise ReasonsRequired unless what has to be said for this transition is said.

        A rejection names its principal reasons where reviewers decide; the reopening of what was taken up, and a
        decision against what the score proposes, have a reason in words.
        """
        if to == REJECTED and settings.REVIEW_POLICY != "open" and not reasons_of(metadata):
            raise ReasonsRequired(details={"codes": [*REASONS, OTHER]})
        if reason is not None and reason.strip():
            return
        if self.accepted_at and to == UNDER_REVIEW:
            raise ReasonsRequired("What has been taken up is reopened with a `reason`.")
        if self.goes_against_score(to):
            raise ReasonsRequired(
                f"The score proposes '{self.proposed_decision}': say in `reason` why the decision is another."
            )

    @cached_property
    def decision_score(self) -> Score | None:
        """The score that decides or proposes; asked for only where the pinned offer names a scoring model."""
        return decision_scores(self.pk).defer("version__definition").first() if self.names_scoring_model else None

    @property
    def names_scoring_model(self) -> bool:
        return (self.offer_snapshot or {}).get("blockscore_model_id") is not None

    @property
    def proposed_decision(self) -> str | None:
        """The status that the score proposes, None without a score and where it leaves the matter to people."""
        return None if self.decision_score is None else PROPOSALS.get(self.decision_score.outcome)

    def goes_against_score(self, to: str) -> bool:
        """Say whether this transition decides otherwise than the score proposes."""
        return settings.DECISIONING != "off" and to in DECIDED and self.proposed_decision not in {None, to}

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
        """Write the event, for a submission the scores, for a decision what is to be anchored."""
        if row.status == SUBMITTED:
            self.score_submission(now=row.changed_at)
        is_decision = row.status in DECIDED or (row.previous_status in DECIDED and row.status == UNDER_REVIEW)
        if is_decision and settings.ANCHOR_DECISIONS:
            record = decision_record(self, row)
            DecisionAnchor.objects.create(history=row, application=self, record=record, due_at=row.changed_at)
        record_application_event(row.status, self, now=row.changed_at)

    def score_submission(self, *, now: datetime) -> None:
        """Write the scores by the pinned offer's model, if there is one and `DECISIONING` wants them."""
        if settings.DECISIONING != "off" and self.offer_snapshot is not None:
            score_submitted(self, self.offer_snapshot, now=now)

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

    @cached_property
    def provider_owner_id(self) -> int | None:
        """Return the account that owns the provider and is told what happens; None where there is none."""
        return self.provider_owner(str(self.provider_id), self.created_at).values_list("owner_id", flat=True).first()

    @staticmethod
    def provider_owner(provider_id: Any, created_at: Any) -> models.QuerySet[Provider]:
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
