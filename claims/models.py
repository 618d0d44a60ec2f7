"""Claims, and the rows that tell a claim's story."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from claims.doi import publication_key
from claims.machine import APPROVED, DRAFT, LEVELS, MACHINE, PRIVATE, REVOKED, SELF_ASSERTED, VISIBILITIES
from claims.policy import ClaimNotFound, InvalidClaimTransition, is_visible, refusal_of
from config.api.documents import DocumentField
from config.api.ids import uuid7
from config.lifecycle import Actor, LostRace, Move, StatusHistory, write_move
from config.webhooks.events import record_event


class LiveClaims(models.Manager["Claim"]):
    """Claims that were not deleted: what every request and every move works on."""

    def get_queryset(self) -> models.QuerySet["Claim"]:
        """Leave out tombstones."""
        return super().get_queryset().filter(deleted_at__isnull=True)


class Claim(models.Model):
    """One person's claim to one publication."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="claims", db_index=False)
    publication_id = models.CharField(max_length=512, help_text="As the owner spelled it.")
    publication_key = models.CharField(
        max_length=512, editable=False, help_text="The DOI name in its one spelling, or the identifier as it is."
    )
    claim_type = models.CharField(max_length=64)
    status = models.CharField(max_length=32, choices=[(one, one) for one in MACHINE.statuses], default=DRAFT)
    moves = models.PositiveIntegerField(default=0, help_text="How often the status has changed.")
    verification_level = models.CharField(
        max_length=32, choices=[(one, one.replace("_", " ")) for one in LEVELS], default=SELF_ASSERTED
    )
    visibility = models.CharField(max_length=16, choices=[(one, one) for one in VISIBILITIES], default=PRIVATE)
    evidence = DocumentField(help_text="A list of texts; what looks like an address is never fetched.")
    notes = models.TextField(null=True)  # noqa: DJ001  null and "" are different answers of the interface
    approved_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    content_changed_at = models.DateTimeField(null=True, help_text="When the owner last changed what is claimed.")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    deleted_with = models.CharField(max_length=80, blank=True, default="", help_text="The credential that deleted it.")

    objects = LiveClaims()
    with_tombstones = models.Manager["Claim"]()

    class Meta:
        indexes = [
            models.Index(fields=["user", "-id"], condition=Q(deleted_at__isnull=True), name="claims_claim_user"),
            models.Index(
                fields=["user", "status", "-id"], condition=Q(deleted_at__isnull=True), name="claims_claim_user_status"
            ),
            # Visibility and owner stand in the index, so that a page of a publication's visible claims is found in it
            # alone, however many of them are private.
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
        """Name the claim by its id."""
        return str(self.id)

    @classmethod
    def draft(cls, *, user_id: int, members: dict[str, Any], now: datetime) -> "Claim":
        """Return a new claim, not yet saved, with the members of a validated body; absent ones get their default."""
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

    def is_visible_to(self, user: Any) -> bool:
        """Say whether `user` may read this."""
        return is_visible(owner_id=self.user_id, visibility=self.visibility, user=user)

    def event_members(self) -> dict[str, Any]:
        """Return what events tell of the claim."""
        return {
            "claim_id": str(self.id),
            "status": self.status,
            "verification_level": self.verification_level,
            "visibility": self.visibility,
        }

    def move_to(
        self, to: str, *, actor: Actor, changed_by: str, now: datetime, reason: str | None = None
    ) -> "ClaimHistory":
        """Change the status, with its history row and its event: the only place that does.

        Raises InvalidClaimTransition for a move that the table lacks or that somebody else made first,
        ReviewerRequired for a decision that the review policy gives to somebody else, ClaimNotFound when the claim was
        deleted meanwhile.
        """
        refusal = refusal_of(self, to, actor)
        if refusal is not None:
            raise refusal
        now = max(now, self.updated_at)  # a clock that was set back must not turn the story around
        try:
            row = write_move(
                self,
                Move(to=to, actor=actor, changed_by=changed_by, now=now, reason=reason),
                history=ClaimHistory,
                parent="claim",
                changes=self._derived_columns(to, now),
            )
        except LostRace as race:
            self.refresh_from_db(fields=["status", "moves", "deleted_at"])
            if self.deleted_at is not None:
                raise ClaimNotFound from race
            raise InvalidClaimTransition.between(self, to) from race
        record_claim_event(to, self, now=now)
        return row

    def _derived_columns(self, to: str, now: datetime) -> dict[str, Any]:
        """Return the columns that follow from a move."""
        if to == APPROVED and self.approved_at is None:
            return {"approved_at": now}
        return {"revoked_at": now} if to == REVOKED else {}


class ClaimHistory(StatusHistory):
    """A move of a claim. Append-only, in the database too."""

    claim = models.ForeignKey(Claim, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(StatusHistory.Meta):
        verbose_name_plural = "claim history"
        constraints = [models.UniqueConstraint(fields=["claim", "position"], name="claims_history_claim_position")]


def record_claim_event(verb: str, claim: Claim, *, now: datetime) -> None:
    """Write `claim.<verb>` to the outbox."""
    record_event(f"claim.{verb}", account_id=claim.user_id, now=now, **claim.event_members())
