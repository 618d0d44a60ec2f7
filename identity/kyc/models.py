from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.core.lifecycle import Actor, Role, StatefulModel, StatusHistory, Transition
from config.core.names import shows_nothing
from config.webhooks.events import record_event
from identity.errors import InvalidVerificationTransition
from identity.kyc.machine import (
    CANCELED,
    DECISIONS,
    EXPIRED,
    FAILED,
    MACHINE,
    OPEN,
    PROCESSING,
    REVIEW_PERMISSION,
    VERIFIED,
)
from identity.providers.base import NameMatch

REVOKED = "verification_revoked"  # the code in `last_error` after the vendor revoked a success


class KycVerification(StatefulModel):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="verifications",
        db_index=False,
        help_text="The account that is verified.",
    )
    attempt = models.PositiveIntegerField(
        help_text="The number of the verification among the account's verifications, from 1."
    )
    previous_attempt = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    status = models.CharField(
        max_length=32,
        choices=[(status, status.replace("_", " ")) for status in MACHINE.statuses],
        help_text="The status of the verification.",
    )
    status_reason = models.TextField(null=True)  # noqa: DJ001
    provider = models.CharField(max_length=32, help_text="The vendor of the verification.")
    provider_reference = models.CharField(max_length=255, help_text="The verification's id at the vendor.")
    provider_status = models.CharField(max_length=64, help_text="The vendor's own status.")
    steps: Any = JsonTextField(help_text="The vendor's steps, and the status of each.")
    name_match = models.CharField(
        max_length=8,
        choices=[(match.value, match.value) for match in NameMatch],
        default=NameMatch.UNKNOWN.value,
        help_text="Whether the name matches the vendor's sources, as the vendor reports it.",
    )
    hosted_url = models.TextField(null=True)  # noqa: DJ001
    redirect_uri = models.TextField(null=True)  # noqa: DJ001
    template_id = models.CharField(max_length=255, null=True)  # noqa: DJ001
    last_error: Any = JsonTextField(
        null=True,
        help_text="Why the verification failed, ended, or was revoked. Null if there is no error. If the verification "
        "expired before a review, the field still contains the expiry.",
    )
    expires_at = models.DateTimeField(
        help_text="The time by which the applicant must start on the vendor's page (UTC). After that, the verification "
        "expires."
    )
    refreshed_at = models.DateTimeField(help_text="When the platform last requested the status from the vendor.")
    completed_at = models.DateTimeField(
        null=True,
        help_text="When the verification was decided, expired, or was canceled (UTC); null while it is open or in "
        "review.",
    )
    created_at = models.DateTimeField(help_text="When the verification was created (UTC).")

    machine = MACHINE
    invalid_transition = InvalidVerificationTransition

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
        return str(self.id)

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    def is_same_session(self, *, template_id: str | None, redirect_uri: str | None) -> bool:
        """Return whether the applicant can continue this session.

        For a session that the applicant has submitted, the parameters are ignored.
        """
        wanted = (template_id, redirect_uri)
        return self.is_open and (self.status == PROCESSING or (self.template_id, self.redirect_uri) == wanted)

    @property
    def is_success_revoked(self) -> bool:
        return self.status == VERIFIED and (self.last_error or {}).get("code") == REVOKED

    @property
    def live_url(self) -> str | None:
        return self.hosted_url if self.is_open else None

    def check_transition(self, to: str, actor: Actor) -> InvalidVerificationTransition | None:
        """Return the error that prevents this transition for `actor`, or None.

        `derived_columns` checks the reason for a reviewer's decision.
        """
        role = MACHINE.moves_from(self.status).get(to)
        if role is None or (role is Role.SYSTEM and not actor.is_system):
            return InvalidVerificationTransition.between(self, to)
        if actor.is_system:
            return None
        is_own = actor.user.pk == self.user_id
        is_review = to in DECISIONS
        if not is_review and not is_own:
            return InvalidVerificationTransition("Only the account's owner can cancel the verification.")
        if is_review and not actor.user.has_perm(REVIEW_PERMISSION):
            return InvalidVerificationTransition("Only a reviewer can make this decision.")
        if is_review and is_own:
            return InvalidVerificationTransition("You can't decide your own verification.")
        return None

    def derived_columns(self, transition: Transition) -> dict[str, Any]:
        by_a_person = transition.to in DECISIONS and not transition.actor.is_system
        if by_a_person and shows_nothing(transition.reason or ""):
            raise InvalidVerificationTransition("A decision requires a reason.")
        is_complete = transition.to in {VERIFIED, FAILED, EXPIRED, CANCELED}
        return {"status_reason": transition.reason, "completed_at": transition.now if is_complete else None}

    def record_transition(self, row: "KycVerificationHistory") -> None:
        record_verification_event("updated", self, now=row.changed_at)


class KycVerificationHistory(StatusHistory):
    verification = models.ForeignKey(KycVerification, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(StatusHistory.Meta):
        verbose_name = verbose_name_plural = "identity verification history"
        constraints = [
            models.UniqueConstraint(fields=["verification", "position"], name="identity_kyc_history_position")
        ]


def record_verification_event(verb: str, verification: KycVerification, *, now: datetime) -> None:
    record_event(
        f"kyc.verification.{verb}",
        account_id=verification.user_id,
        now=now,
        verification_id=str(verification.id),
        status=verification.status,
        attempt=verification.attempt,
    )
