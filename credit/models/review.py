from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.core.lifecycle import Actor
from credit.core.figures import reference_of
from credit.core.machine import APPROVED, COUNTEROFFER
from credit.models.closable import ClosableModel

RETURN_REASON = "return_reason"  # the key of the second reviewer's reason in a returned proposal's metadata
# The key of the first reviewer's internal reason against the score's proposal. The decision's metadata omits it.
SCORE_REASON = "reason_against_the_score"


def as_members(metadata: Any) -> dict[str, Any]:
    return metadata if isinstance(metadata, dict) else {} if metadata is None else {"given": metadata}


class Proposal(ClosableModel):
    """A decision that a reviewer or a scoring model proposes, and that another reviewer must confirm.

    A proposal is void if the application's state no longer equals `seen`, or if the proposer can no longer review the
    application.
    """

    CONFIRMED, VOID, WITHDRAWN, DECLINED = "confirmed", "void", "withdrawn", "declined"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="proposals", db_index=False
    )
    to = models.CharField(max_length=32)
    reason = models.TextField(null=True)  # noqa: DJ001  null, as in the status history
    metadata = JsonTextField(null=True)
    seen = models.CharField(max_length=255)
    proposed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    proposed_as = models.CharField(max_length=80, blank=True, help_text="The credential, where no person proposed.")
    proposed_at = models.DateTimeField(help_text="When the decision was proposed (UTC).")

    class Meta(ClosableModel.Meta):
        constraints = [
            *ClosableModel.Meta.constraints,
            models.CheckConstraint(
                condition=~Q(outcome="confirmed") | ~Q(closed_by=models.F("proposed_by")),
                name="credit_proposal_two_people",
            ),
            models.CheckConstraint(
                condition=Q(proposed_by__isnull=False, proposed_as="")
                | Q(proposed_by__isnull=True) & ~Q(proposed_as=""),
                name="credit_proposal_by_one",
            ),
        ]
        indexes = [
            models.Index(fields=["proposed_at"], condition=Q(closed_at__isnull=True), name="credit_proposal_open"),
            models.Index(fields=["application", "-id"], name="credit_proposal_record"),
        ]

    def __str__(self) -> str:
        state = self.outcome or "proposed"
        return f"{self.to}, {state}, for {reference_of(self.application_id)}"

    @property
    def proposer(self) -> str:
        return self.proposed_as if self.proposed_by is None else self.proposed_by.get_username()

    @property
    def proposer_id(self) -> Any:
        """The user ID of the proposer, or `model:<id>@<version>` for a scoring model."""
        return self.proposed_as or self.proposed_by_id

    @property
    def terms(self) -> Any:
        """The proposed loan terms, or None if the proposal has no loan."""
        names_loan = self.to in {APPROVED, COUNTEROFFER} and isinstance(self.metadata, dict)
        return self.metadata.get("terms") if names_loan else None

    def counts_for(self, application: Any) -> bool:
        """Return whether the application is unchanged, and the proposer can still review the application."""
        if self.seen != application.reviewed_state:
            return False
        return self.proposed_by is None or application.is_reviewed_by(self.proposed_by)

    def is_by(self, actor: Actor) -> bool:
        if actor.user is None:
            return self.proposed_as == actor.credential
        return bool(self.proposed_by_id == actor.user.pk)

    def confirmed_metadata(self, *, by: Any, metadata: Any = None) -> dict[str, Any]:
        """Merge the metadata of a confirmed decision from the proposal, the confirmation, and the two reviewers.

        If the proposal and the confirmation have the same key, the confirming reviewer's value is used. Loan terms
        always come from the proposal.
        """
        merged = {**as_members(self.metadata), **as_members(metadata)}
        merged.pop(SCORE_REASON, None)
        four_eyes = {
            "proposed_by": self.proposer,
            "proposed_at": self.proposed_at.isoformat(),
            "confirmed_by": by.get_username(),
            "seen": self.seen,
        }
        terms = {} if self.terms is None else {"terms": self.terms}
        return {**merged, **terms, "four_eyes": four_eyes}

    @classmethod
    def close_lapsed(cls, proposer_id: Any, *, now: datetime) -> None:
        """Void an account's open proposals for applications that the account can no longer review."""
        proposals = cls.objects.filter(proposed_by=proposer_id, closed_at__isnull=True)
        for proposal in proposals.select_related("application", "proposed_by"):
            if not proposal.application.is_reviewed_by(proposal.proposed_by):
                proposal.close(cls.VOID, by=None, now=now)
