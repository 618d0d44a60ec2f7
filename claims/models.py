from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from claims.doi import publication_key
from claims.errors import ClaimNotFound, InvalidClaimTransition
from claims.machine import (
    APPROVED,
    DRAFT,
    LEVELS,
    MACHINE,
    PRIVATE,
    REVIEW_PERMISSION,
    REVOKED,
    SELF_ASSERTED,
    VISIBILITIES,
)
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.core.lifecycle import (
    Actor,
    ReviewerRequired,
    Role,
    SecondFactorRequired,
    StatefulModel,
    StatusHistory,
    Transition,
)
from config.webhooks.events import record_event


class LiveClaims(models.Manager["Claim"]):
    """Claims that are not deleted. All requests and transitions use this manager."""

    def get_queryset(self) -> models.QuerySet["Claim"]:
        return super().get_queryset().filter(deleted_at__isnull=True)


class Claim(StatefulModel):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The claim's id.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="claims",
        db_index=False,
        help_text="The account of the claimant.",
    )
    publication_id = models.CharField(max_length=512, help_text="The publication's id, as the claimant sent it.")
    publication_key = models.CharField(
        max_length=512, editable=False, help_text="The DOI or ISBN in its one spelling, or the identifier."
    )
    claim_type = models.CharField(max_length=64, help_text="The kind of the claim, such as `author` or `contributor`.")
    status = models.CharField(
        max_length=32,
        choices=[(choice, choice) for choice in MACHINE.statuses],
        default=DRAFT,
        help_text="The status of the claim.",
    )
    verification_level = models.CharField(
        max_length=32,
        choices=[(choice, choice.replace("_", " ")) for choice in LEVELS],
        default=SELF_ASSERTED,
        help_text="How the claim is verified: by its owner, evidence, its source, or an institution.",
    )
    visibility = models.CharField(
        max_length=16,
        choices=[(choice, choice) for choice in VISIBILITIES],
        default=PRIVATE,
        help_text="The accounts that can read the claim with the API. `private`: only the owner. `conditional`: also "
        "reviewers. `shared`: every account.",
    )
    evidence = JsonTextField(help_text="URLs or documents. The API never fetches the URLs.")
    notes = models.TextField(null=True, help_text="Human-readable notes. Null if there are none.")  # noqa: DJ001  null and "" differ in the API
    approved_at = models.DateTimeField(
        null=True, help_text="When the claim was first approved (UTC); null before then."
    )
    revoked_at = models.DateTimeField(null=True, help_text="When the claim was revoked (UTC); null before then.")
    content_changed_at = models.DateTimeField(
        null=True, help_text="When the owner last changed the content of the claim."
    )
    created_at = models.DateTimeField(help_text="When the claim was created (UTC).")
    deleted_at = models.DateTimeField(null=True)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    deleted_with = models.CharField(max_length=80, blank=True, default="", help_text="The credential that deleted it.")

    machine = MACHINE
    invalid_transition = InvalidClaimTransition

    objects = LiveClaims()
    with_tombstones = models.Manager["Claim"]()

    class Meta:
        indexes = [
            models.Index(fields=["user", "-id"], condition=Q(deleted_at__isnull=True), name="claims_claim_user"),
            models.Index(
                fields=["user", "status", "-id"], condition=Q(deleted_at__isnull=True), name="claims_claim_user_status"
            ),
            # The index contains visibility and owner, so that a query skips private claims without reading their rows.
            models.Index(
                fields=["publication_key", "-id", "visibility", "user"],
                condition=Q(deleted_at__isnull=True),
                name="claims_claim_publication",
            ),
            models.Index(fields=["status", "updated_at"], name="claims_claim_status_age"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="claims_claim_status_known"),
            models.CheckConstraint(condition=Q(verification_level__in=LEVELS), name="claims_claim_level_known"),
            models.CheckConstraint(condition=Q(visibility__in=VISIBILITIES), name="claims_claim_visibility_known"),
            models.CheckConstraint(
                condition=~Q(status=REVOKED) | Q(revoked_at__isnull=False), name="claims_claim_revoked_at"
            ),
            models.CheckConstraint(
                condition=~Q(status=APPROVED) | Q(approved_at__isnull=False), name="claims_claim_approved_at"
            ),
        ]
        permissions = [("review_claim", "Can review claims")]

    def __str__(self) -> str:
        return str(self.id)

    @classmethod
    def draft(cls, *, user_id: int, members: dict[str, Any], now: datetime) -> "Claim":
        """Return an unsaved claim with the fields of a validated body. Absent fields get their defaults."""
        evidence: Any = members.get("evidence") or []
        return cls(
            user_id=user_id,
            publication_id=members["publication_id"],
            publication_key=publication_key(members["publication_id"]),
            claim_type=members["claim_type"],
            verification_level=members.get("verification_level") or SELF_ASSERTED,
            visibility=members.get("visibility") or PRIVATE,
            evidence=evidence,
            notes=members.get("notes"),
            created_at=now,
            updated_at=now,
        )

    def event_members(self) -> dict[str, Any]:
        return {
            "claim_id": str(self.id),
            "status": self.status,
            "verification_level": self.verification_level,
            "visibility": self.visibility,
        }

    def check_transition(self, to: str, actor: Actor) -> ApiError | None:  # noqa: PLR0911  each rule has a return statement
        """Return the error that prevents the transition for `actor`, or None if the transition is allowed.

        If `REVIEW_POLICY` is `open`, all transitions of `MACHINE` are allowed. If `REVIEW_POLICY` is `reviewed`, the
        actor needs the permission `claims.review_claim` to approve a claim or to resolve a dispute. If `REVIEW_POLICY`
        is `four_eyes`, the owner also can't be the reviewer.
        """
        if self.deleted_at is not None:
            return ClaimNotFound()
        role = MACHINE.moves_from(self.status).get(to)
        if role is None or actor.is_system:
            return InvalidClaimTransition.between(self, to)
        if settings.REVIEW_POLICY == "open":
            return None
        is_owner = actor.user.pk == self.user_id
        if role is Role.OWNER or (role is Role.EITHER and is_owner):
            return None if is_owner else ReviewerRequired("Only the claim's owner can make this transition.")
        if not actor.user.has_perm(REVIEW_PERMISSION):
            return ReviewerRequired()
        if actor.lacks_second_factor:
            return SecondFactorRequired()
        if settings.REVIEW_POLICY == "four_eyes" and is_owner:
            return ReviewerRequired("You can't review your own claim.")
        return None

    def lost_race(self, to: str) -> Exception:
        self.refresh_from_db(fields=["status", "moves", "deleted_at"])
        return ClaimNotFound() if self.deleted_at is not None else InvalidClaimTransition.between(self, to)

    def derived_columns(self, transition: Transition) -> dict[str, Any]:
        if transition.to == APPROVED and self.approved_at is None:
            return {"approved_at": transition.now}
        return {"revoked_at": transition.now} if transition.to == REVOKED else {}

    def record_transition(self, row: "ClaimHistory") -> None:
        record_claim_event(row.status, self, now=row.changed_at)


class ClaimHistory(StatusHistory):
    claim = models.ForeignKey(Claim, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(StatusHistory.Meta):
        verbose_name_plural = "claim history"
        constraints = [models.UniqueConstraint(fields=["claim", "position"], name="claims_history_claim_position")]


def record_claim_event(verb: str, claim: Claim, *, now: datetime) -> None:
    record_event(f"claim.{verb}", account_id=claim.user_id, now=now, **claim.event_members())
