"""Identity verifications and their history."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.api.documents import DocumentField
from config.api.ids import uuid7
from config.lifecycle import Actor, LostRace, Move, StatusHistory, write_move
from config.webhooks.events import record_event
from identity.kyc.machine import CANCELED, EXPIRED, FAILED, MACHINE, OPEN, VERIFIED
from identity.kyc.policy import InvalidVerificationMove, refusal_of


class KycVerification(models.Model):
    """One attempt of one person to prove who they are."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="verifications", db_index=False
    )
    attempt = models.PositiveIntegerField(help_text="1 for the person's first.")
    previous_attempt = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    status = models.CharField(
        max_length=32, choices=[(status, status.replace("_", " ")) for status in MACHINE.statuses]
    )
    status_reason = models.TextField(null=True)  # noqa: DJ001
    moves = models.PositiveIntegerField(default=0, help_text="How often the status has changed.")
    provider = models.CharField(max_length=32)
    provider_reference = models.CharField(max_length=255, help_text="The verification's id at the provider.")
    provider_status = models.CharField(max_length=64, help_text="The status in the provider's own words.")
    steps: Any = DocumentField()
    hosted_url = models.TextField(null=True)  # noqa: DJ001
    redirect_uri = models.TextField(null=True)  # noqa: DJ001
    template_id = models.CharField(max_length=255, null=True)  # noqa: DJ001
    last_error: Any = DocumentField(null=True)
    expires_at = models.DateTimeField()
    refreshed_at = models.DateTimeField(help_text="When the provider was last asked.")
    completed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        verbose_name = "identity verification"
        indexes = [
            models.Index(fields=["user", "created_at"], name="identity_kyc_user_age"),
            models.Index(fields=["status", "expires_at"], name="identity_kyc_status_expiry"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="identity_kyc_status_known"),
            models.UniqueConstraint(fields=["user", "attempt"], name="identity_kyc_attempt"),
            models.UniqueConstraint(fields=["provider", "provider_reference"], name="identity_kyc_reference"),
            models.UniqueConstraint(
                fields=["user"], condition=Q(status__in=sorted(OPEN)), name="identity_kyc_one_open"
            ),
        ]
        permissions = [("review_kycverification", "Can decide about identity verifications")]

    def __str__(self) -> str:
        """Name the verification by its id."""
        return str(self.id)

    @property
    def is_open(self) -> bool:
        """Say whether the person may still do something."""
        return self.status in OPEN

    @property
    def live_url(self) -> str | None:
        """Return the provider's page while there is something to do on it."""
        return self.hosted_url if self.is_open else None

    def move_to(
        self,
        to: str,
        *,
        actor: Actor,
        changed_by: str,
        now: datetime,
        reason: str | None = None,
        metadata: Any = None,
    ) -> "KycVerificationHistory":
        """Change the status, with its history row and its event: the only place that does.

        Raises InvalidVerificationMove for a move that the table lacks, that is not this actor's, that wants a reason,
        or that somebody else made first.
        """
        refusal = refusal_of(self, to, actor, reason=reason)
        if refusal is not None:
            raise refusal
        changes: dict[str, Any] = {"status_reason": reason}
        if to in {VERIFIED, FAILED, EXPIRED, CANCELED}:
            changes["completed_at"] = now
        try:
            row = write_move(
                self,
                Move(to=to, actor=actor, changed_by=changed_by, now=now, reason=reason, metadata=metadata),
                history=KycVerificationHistory,
                parent="verification",
                changes=changes,
            )
        except LostRace as race:
            self.refresh_from_db(fields=["status", "moves"])
            raise InvalidVerificationMove.between(self, to) from race
        record_verification_event("updated", self, now=now)
        return row


class KycVerificationHistory(StatusHistory):
    """A move of a verification. Append-only, in the database too."""

    verification = models.ForeignKey(KycVerification, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(StatusHistory.Meta):
        verbose_name_plural = "identity verification history"
        constraints = [
            models.UniqueConstraint(fields=["verification", "position"], name="identity_kyc_history_position")
        ]


def record_verification_event(verb: str, verification: KycVerification, *, now: datetime) -> None:
    """Write `kyc.verification.<verb>` to the outbox."""
    record_event(
        f"kyc.verification.{verb}",
        account_id=verification.user_id,
        now=now,
        verification_id=str(verification.id),
        status=verification.status,
        attempt=verification.attempt,
    )
