"""Models of the notices to applicants, and of their deadlines, deliveries, and consents."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core import lifecycle
from config.core.encryption import EncryptedTextField
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.webhooks.events import record_event
from credit.core.applicants import FIRST
from credit.core.figures import reference_of
from credit.core.jurisdictions import Conventions
from credit.core.machine import DECIDED, JUDGEMENTS

ADVERSE_ACTION, APPROVAL, COUNTEROFFER, INCOMPLETE = "adverse_action", "approval", "counteroffer", "incomplete"
PRICING, WITHDRAWAL_REMINDER = "pricing", "withdrawal_reminder"
KINDS = (ADVERSE_ACTION, APPROVAL, COUNTEROFFER, INCOMPLETE, PRICING, WITHDRAWAL_REMINDER)
# Notices of these kinds have their own deadlines, so the clocks of a decision ignore them.
WITHOUT_CLOCK = (PRICING, WITHDRAWAL_REMINDER)
DUE, READY, DELIVERED, FAILED, CANCELLED = "due", "ready", "delivered", "failed", "cancelled"
PORTAL, EMAIL, POST, PROVIDER = CHANNELS = ("portal", "email", "post", "provider")
UNDELIVERED = (DUE, READY, FAILED)

MACHINE = lifecycle.Machine(
    {
        DUE: {READY: lifecycle.Role.SYSTEM, CANCELLED: lifecycle.Role.SYSTEM},
        READY: {DELIVERED: lifecycle.Role.EITHER, FAILED: lifecycle.Role.SYSTEM, CANCELLED: lifecycle.Role.SYSTEM},
        FAILED: {DELIVERED: lifecycle.Role.EITHER, CANCELLED: lifecycle.Role.SYSTEM},
        DELIVERED: {},
        CANCELLED: {},
    }
)


class Clock(models.Model):
    """A period within which an applicant must be notified.

    It never pauses. `why` is the reason why the clock was stopped.
    """

    # By 12 CFR 1002.9(a)(1), clocks start at (i) a complete application, (ii) an action if no other clock runs, and
    # (iv) the notice of a counteroffer. REVIEW is the platform's own clock. It starts at a request for reconsideration.
    APPLICATION, ACTION, COUNTEROFFER, REVIEW = KINDS = ("application", "action", "counteroffer", "review")
    DAYS = {APPLICATION: 30, ACTION: 30, COUNTEROFFER: 90, REVIEW: 30}
    TO_NOTIFY = (APPLICATION, ACTION, COUNTEROFFER)
    TOLD, TOLD_WHAT_IS_MISSING, TAKEN_UP = "told", "told_what_is_missing", "taken_up"
    WITHDRAWN, NOT_COMPLETED, ANSWERED, ENDED = "withdrawn", "not_completed", "answered", "ended"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="clocks", db_index=False
    )
    kind = models.CharField(max_length=16, choices=[(kind, kind) for kind in KINDS])
    started_at = models.DateTimeField()
    due_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True)
    why = models.CharField(max_length=24, blank=True, default="")
    overdue_told_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "notice clock"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["application", "kind"], condition=Q(stopped_at__isnull=True), name="credit_clock_runs_once"
            ),
            models.CheckConstraint(
                condition=Q(stopped_at__isnull=True, why="") | Q(stopped_at__isnull=False) & ~Q(why=""),
                name="credit_clock_stopped_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["application", "id"], name="credit_clock_record"),
            models.Index(fields=["due_at"], condition=Q(stopped_at__isnull=True), name="credit_clock_running"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {reference_of(self.application_id)}"

    @classmethod
    def start(cls, application: Any, kind: str, *, now: datetime, days: int | None = None) -> "Clock":
        due_at = now + timedelta(days=cls.DAYS[kind] if days is None else days)
        return cls.objects.create(application_id=application.pk, kind=kind, started_at=now, due_at=due_at)

    @classmethod
    def running(cls, application_id: Any, kinds: tuple[str, ...] = TO_NOTIFY) -> "models.QuerySet[Clock]":
        return cls.objects.filter(application_id=application_id, kind__in=kinds, stopped_at__isnull=True)

    @classmethod
    def stop(cls, application_id: Any, why: str, *, now: datetime, kinds: tuple[str, ...] = TO_NOTIFY) -> int:
        return cls.running(application_id, kinds).update(stopped_at=now, why=why)


class NoticeSettled(lifecycle.RecordNotEditable, lifecycle.InvalidTransition):
    """The notice is delivered or cancelled already, or it is not created yet."""


class Notice(lifecycle.StatefulModel):
    """A notice about a decision or a request for documents (both in `move`), or about a counteroffer.

    After the notice is created, `html` is its exact text, `sha256` is the hash of the text's UTF-8 bytes, and `content`
    is the data from which it was created. At the end of the retention period, `html` and `content` are erased, but the
    hash remains.
    """

    ADDRESS, CREDITOR, REASONS, MISSING, FAULT = "address", "creditor", "reasons", "missing", "fault"
    # The console shows these reasons for the delay of a due notice.
    WAITS_FOR = {
        ADDRESS: "neither the application nor its account has an address",
        CREDITOR: "the lender has no name or no address, which an owner of the lender can enter",
        REASONS: "the decision has no principal reasons: reopen it, and decide with reasons",
        MISSING: "no requested information is missing",
        FAULT: "creating the notice failed: the log of issue_notices has the error",
    }

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The notice's id.")
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="notices", db_index=False
    )
    provider_id = models.BigIntegerField()
    move = models.ForeignKey(
        "credit.ApplicationHistory", null=True, on_delete=models.PROTECT, related_name="notices", db_index=False
    )
    counteroffer = models.ForeignKey(
        "credit.Counteroffer", null=True, on_delete=models.PROTECT, related_name="notices", db_index=False
    )
    # The second applicant has no account.
    FOR_ACCOUNT = ~Q(applicant__gt=FIRST)

    applicant = models.PositiveSmallIntegerField(
        null=True,
        help_text="The number of the applicant, if the notice is for only one applicant. Null for a notice about the "
        "application, and for the first applicant's `withdrawal_reminder`.",
    )
    kind = models.CharField(
        max_length=24,
        choices=[(kind, kind) for kind in KINDS],
        help_text="`adverse_action`, `approval`, `counteroffer`, `incomplete`, `pricing`, or `withdrawal_reminder`.",
    )
    profile = models.CharField(max_length=8, help_text="The applicable law: `us` or `eu`.")
    language = models.CharField(
        max_length=8,
        default="en",
        help_text="The language of the notice. The value is `en` until the notice is created.",
    )
    due_at = models.DateTimeField(help_text="The deadline of the notice (UTC).")
    status = models.CharField(
        max_length=16,
        default=DUE,
        choices=[(status, status) for status in MACHINE.statuses],
        help_text="The status of the notice.",
    )
    waits_for = models.CharField(max_length=16, blank=True, default="", choices=list(WAITS_FOR.items()))
    look_at = models.DateTimeField(help_text="When a worker processes it next, while it is due.")
    content = EncryptedTextField(null=True)
    html = EncryptedTextField(null=True)
    sha256 = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="The SHA-256 of the notice's HTML page in UTF-8, in hex. Empty until the notice is created.",
    )
    mail = models.ForeignKey(
        "mail.OutgoingMail", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    created_at = models.DateTimeField()
    made_at = models.DateTimeField(null=True, help_text="When the notice was created (UTC). Null before then.")
    delivered_at = models.DateTimeField(
        null=True, help_text="When the notice was first delivered (UTC). Null before then."
    )

    machine = MACHINE
    invalid_transition = NoticeSettled

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(move__isnull=False, counteroffer__isnull=True)
                | Q(move__isnull=True, counteroffer__isnull=False),
                name="credit_notice_of_one",
            ),
            models.CheckConstraint(
                condition=Q(status__in=(DUE, CANCELLED)) | ~Q(sha256=""), name="credit_notice_made_whole"
            ),
        ]
        indexes = [
            models.Index(fields=["application", "-id"], name="credit_notice_record"),
            models.Index(fields=["provider_id", "due_at", "id"], name="credit_notice_provider"),
            models.Index(fields=["look_at"], condition=Q(status=DUE), name="credit_notice_due"),
            models.Index(fields=["mail"], condition=Q(status=READY), name="credit_notice_ready"),
            models.Index(fields=["made_at"], condition=Q(content__isnull=False), name="credit_notice_kept"),
            models.Index(fields=["created_at"], condition=Q(status__in=UNDELIVERED), name="credit_notice_undelivered"),
        ]

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ')} of {reference_of(self.application_id)}"

    @property
    def made_from(self) -> dict[str, Any] | None:
        """Return the data of the notice. Return None before the notice is created and after its retention period."""
        return json.loads(self.content) if self.content else None

    @property
    def deliveries_made(self) -> list["Delivery"]:
        return list(self.deliveries.all())

    @property
    def proof_kept(self) -> Any:
        return getattr(self, "anchor", None)

    @property
    def includes_score(self) -> bool:
        return not {"score", "pricing_score", "score_disclosure"}.isdisjoint((self.made_from or {}).get("blocks", ()))

    @property
    def is_about_price(self) -> bool:
        """Return whether this notice is a created risk-based pricing notice, as opposed to a score disclosure."""
        return "pricing" in (self.made_from or {}).get("blocks", ())

    @property
    def waiting_reason(self) -> str | None:
        return self.WAITS_FOR.get(self.waits_for) if self.status == DUE and self.waits_for else None

    def check_transition(self, to: str, actor: lifecycle.Actor) -> ApiError | None:
        role = MACHINE.moves_from(self.status).get(to)
        is_one = role is lifecycle.Role.EITHER or (role is lifecycle.Role.SYSTEM and actor.is_system)
        return None if is_one else NoticeSettled.between(self, to)

    def derived_columns(self, transition: lifecycle.Transition) -> dict[str, Any]:
        return {"waits_for": "", **({"made_at": transition.now} if transition.to == READY else {})}

    def record_transition(self, row: Any) -> None:
        """Record the event of a transition. After the last notice of a decision is delivered, stop the clocks.

        The clocks ignore notices with their own deadlines (`WITHOUT_CLOCK`). A counteroffer without a denial starts its
        own clock.
        """
        if row.status == DELIVERED and self.kind not in WITHOUT_CLOCK:
            at = self.delivered_at or row.changed_at
            why = Clock.TOLD_WHAT_IS_MISSING if self.kind == INCOMPLETE else Clock.TOLD
            same = {"move": self.move_id, "counteroffer": self.counteroffer_id}
            others = Notice.objects.filter(application=self.application_id, **same)
            if not others.filter(status__in=UNDELIVERED).exclude(kind__in=WITHOUT_CLOCK).exists():
                Clock.stop(self.application_id, why, now=at)
            offered = self.counteroffer
            if offered is not None and not offered.with_denial and offered.closed_at is None:
                Clock.start(self.application, Clock.COUNTEROFFER, now=at)
        if row.status in {READY, DELIVERED}:
            self.emit(row.status, now=row.changed_at)

    @classmethod
    def readable_by(cls, user: Any, application: Any) -> "models.QuerySet[Notice]":
        """Select the notices of an application that `user` can read. `user` must be able to read the application.

        The application's account belongs to the first applicant, who can't read notices for the second applicant.
        """
        rows = cls.objects.filter(application=application)
        return rows.filter(cls.FOR_ACCOUNT) if application.consumer_id == user.pk else rows

    @classmethod
    def undelivered_about_pricing(cls, application: Any) -> "models.QuerySet[Notice]":
        return cls.objects.filter(application=application, kind=PRICING, status__in=UNDELIVERED)

    @property
    def is_for_account(self) -> bool:
        """Return whether the notice is for the first applicant, to whom the account belongs."""
        return (self.applicant or FIRST) == FIRST

    @classmethod
    def cancel_undelivered(cls, application: Any, *, now: datetime, **of: Any) -> None:
        """Cancel the undelivered notices of an application. Row locks let a concurrent delivery finish first."""
        rows = cls.objects.select_for_update().filter(application=application, status__in=UNDELIVERED, **of)
        for notice in rows.defer("content", "html").order_by("-id"):
            notice.transition_to(CANCELLED, actor=lifecycle.Actor.system("applications"), now=now)

    @classmethod
    def end_counteroffer(cls, application: Any, *, now: datetime) -> None:
        """Cancel the undelivered notices of a counteroffer that ended without a decision.

        In the EU, this stops the clock that the counteroffer started: until the next decision, no notice is required.
        """
        cls.cancel_undelivered(application, now=now)
        if Conventions.of(application.offer_snapshot).is_eu:
            offered = application.counteroffers.values("offered_at")
            running = Clock.running(application.pk, (Clock.ACTION,)).filter(started_at__in=offered)
            running.update(stopped_at=now, why=Clock.ENDED)

    def emit(self, word: str, *, now: datetime) -> None:
        """Record an event for the lender's owner and, if the notice is for the first applicant, for the consumer."""
        about = {"notice_id": str(self.pk), "application_id": str(self.application_id), "kind": self.kind}
        owner_id = self.application.provider_owner_id
        consumer_id = self.application.consumer_id if self.is_for_account else None
        for account_id in dict.fromkeys((consumer_id, owner_id)):
            if account_id is not None:
                record_event(f"notice.{word}", account_id=account_id, now=now, **about, status=self.status)


class NoticeHistory(lifecycle.StatusHistory):
    """A transition of a notice. The database enforces that this table is append-only."""

    notice = models.ForeignKey(Notice, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(lifecycle.StatusHistory.Meta):
        verbose_name_plural = "notice history"
        constraints = [models.UniqueConstraint(fields=["notice", "position"], name="credit_notice_history_position")]


class Delivery(models.Model):
    """The delivery of a notice to an applicant, with its channel, time, and evidence. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The delivery's id.")
    notice = models.ForeignKey(
        Notice, on_delete=models.PROTECT, related_name="deliveries", help_text="The id of the delivered notice."
    )
    channel = models.CharField(
        max_length=16,
        choices=[(channel, channel) for channel in CHANNELS],
        help_text="The channel of the delivery: `portal`, `email`, `post`, or `provider`.",
    )
    at = models.DateTimeField(help_text="When the notice was delivered (UTC).")
    evidence = JsonTextField(
        help_text="The evidence: a reference, the id of a mail, or the credential that opened the notice."
    )
    recorded_at = models.DateTimeField(help_text="When the delivery was recorded (UTC).")
    principal = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    credential = models.CharField(max_length=80)

    class Meta:
        ordering = ["id"]
        verbose_name, verbose_name_plural = "notice delivery", "notice deliveries"

    def __str__(self) -> str:
        return f"{self.channel} {self.at:%Y-%m-%d}"


class Consent(models.Model):
    """A consent to electronic records, or the revocation of a consent (15 USC 7001(c)). Append-only.

    The newest row applies. `text` is the exact accepted text, and `text_sha256` is the hash of its UTF-8 bytes.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="record_consents", db_index=False
    )
    is_given = models.BooleanField()
    text = models.TextField()
    text_sha256 = models.CharField(max_length=64)
    at = models.DateTimeField()
    credential = models.CharField(max_length=80)

    class Meta:
        verbose_name = "notice consent"
        ordering = ["id"]
        indexes = [models.Index(fields=["user", "-id"], name="credit_consent_newest")]

    def __str__(self) -> str:
        return f"{'given' if self.is_given else 'withdrawn'} {self.at:%Y-%m-%d}"

    @classmethod
    def newest_of(cls, user_id: int | None) -> "Consent | None":
        return cls.objects.filter(user_id=user_id).order_by("-id").first()

    @classmethod
    def is_given_by(cls, user_id: int | None) -> bool:
        newest = cls.newest_of(user_id)
        return newest is not None and newest.is_given


class RetentionHold(models.Model):
    """The start or the end of a litigation hold on an application's records. The newest row applies. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="holds", db_index=False
    )
    is_on = models.BooleanField()
    reason = models.CharField(max_length=500)
    at = models.DateTimeField()
    principal = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    credential = models.CharField(max_length=80)

    class Meta:
        verbose_name = "litigation hold"
        ordering = ["id"]
        indexes = [models.Index(fields=["application", "-id"], name="credit_hold_newest")]

    def __str__(self) -> str:
        return f"{'on' if self.is_on else 'off'} {self.at:%Y-%m-%d}"

    @classmethod
    def held(cls) -> "models.QuerySet[Any, Any]":
        """Select the IDs of the applications that have an active hold."""
        newest = cls.objects.filter(application=models.OuterRef("application")).order_by("-id").values("pk")[:1]
        return cls.objects.filter(is_on=True, pk=models.Subquery(newest)).values_list("application_id", flat=True)

    @classmethod
    def newest_of(cls, application: Any) -> "RetentionHold | None":
        return cls.objects.filter(application=application).order_by("-id").first()


class ReviewRequest(models.Model):
    """An applicant's request for reconsideration of a decision. The next decision closes the request.

    Accounts that took part in an earlier decision can't make the next decision (`refusal_for`).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The request's id.")
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="review_requests", db_index=False
    )
    statement = EncryptedTextField(null=True, help_text="The applicant's statement. Null after its retention period.")
    requested_at = models.DateTimeField(help_text="When the reconsideration was requested (UTC).")
    due_at = models.DateTimeField(help_text="The deadline of the response (UTC).")
    answered_at = models.DateTimeField(null=True, help_text="When the request was closed (UTC). Null while it is open.")
    answered_by = models.CharField(max_length=255, blank=True, default="")
    outcome = models.CharField(
        max_length=32,
        blank=True,
        default="",
        help_text="How the request was closed: the application's new status, or `counteroffer`. Empty while the "
        "request is open.",
    )

    class Meta:
        verbose_name = "request for reconsideration"
        verbose_name_plural = "requests for reconsideration"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["application"], condition=Q(answered_at__isnull=True), name="credit_review_request_one_open"
            ),
            models.CheckConstraint(
                condition=Q(answered_at__isnull=True, outcome="") | Q(answered_at__isnull=False) & ~Q(outcome=""),
                name="credit_review_request_answered_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["application", "-id"], name="credit_review_request_record"),
            models.Index(fields=["due_at"], condition=Q(answered_at__isnull=True), name="credit_review_request_open"),
        ]

    def __str__(self) -> str:
        return f"of {reference_of(self.application_id)}"

    @property
    def status(self) -> str:
        return "open" if self.answered_at is None else "answered"

    def refusal_for(self, actor: lifecycle.Actor) -> ApiError | None:
        """Return an error if `actor` can't decide, as the applicant or as a participant in an earlier decision."""
        if actor.user is None:
            return lifecycle.ReviewerRequired("The applicant has requested reconsideration by a person.")
        if actor.user.pk == self.application.consumer_id or actor.user.pk in self.participant_ids():
            return lifecycle.ReviewerRequired(
                "The applicant has requested reconsideration. A reviewer who did not decide before must decide."
            )
        return None

    def participant_ids(self) -> set[Any]:
        """Return the IDs of accounts that made decisions, confirmed proposals, or counteroffers before the request."""
        application, until = self.application, self.requested_at
        decided = application.history.filter(status__in=DECIDED, changed_at__lte=until)
        proposed = application.proposals.filter(outcome="confirmed", to__in=JUDGEMENTS, proposed_at__lte=until)
        return {
            *decided.values_list("principal_id", flat=True),
            *proposed.values_list("proposed_by_id", flat=True),
            *application.counteroffers.filter(offered_at__lte=until).values_list("principal_id", flat=True),
        }
