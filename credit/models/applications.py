"""Models of credit applications and of their status histories."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import CharField, Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Cast, Right
from django.db.models.lookups import Exact
from django.utils.functional import cached_property

from config.core import lifecycle
from config.core.encryption import readable
from config.core.ids import uuid7
from config.core.json_text import JsonTextField, canonical_json
from config.core.permissions import holds
from config.webhooks.events import record_event
from credit.core.applicants import Applicants, ApplicantsField
from credit.core.errors import InvalidApplicationTransition
from credit.core.jurisdictions import DEFAULT_CURRENCY, EU, US
from credit.core.machine import (
    APPROVED,
    DECIDED,
    DRAFT,
    EXPIRED,
    IN_REVIEW,
    MACHINE,
    SUBMITTED,
    UNDER_REVIEW,
    WITHDRAWN,
)
from credit.core.reasons import DECLINED_BY_APPLICANT
from credit.models.decision_rules import DecisionRules
from credit.models.offers import Offer, Provider, ProviderMember

REVIEW_PERMISSION = "credit.review_application"
# Lists use this annotation, so that `draft_currency` costs no query per application.
WITH_CURRENCY: dict[str, Any] = {
    "draft_currency": Subquery(Offer.objects.filter(pk=OuterRef("offer_id"), jurisdiction=EU).values("currency"))
}
# A lender that was created later than the application is not the application's lender.
LENDER_NAME = Subquery(
    Provider.objects.filter(pk=Cast(OuterRef("provider_id"), CharField()), created_at__lte=OuterRef("created_at"))
    .exclude(name="")
    .values("name")
)


class Application(DecisionRules):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The application's id.")
    consumer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="applications",
        db_index=False,
        help_text="The `user_id` of the account that applies.",
    )
    # These are not foreign keys, because an application can refer to an offer of another marketplace.
    offer_id = models.BigIntegerField(help_text="The id of the application's offer.")
    provider_id = models.BigIntegerField(
        help_text="The id of the application's lender, as an integer. In offers and lenders it is a string."
    )
    status = models.CharField(
        max_length=32,
        choices=[(status, status.replace("_", " ")) for status in MACHINE.statuses],
        help_text="The status of the application. `GET …/transitions` lists the statuses that can follow.",
    )
    status_reason = models.TextField(  # noqa: DJ001
        null=True, help_text="The reason of the last status change. Null if there is none."
    )
    initial_status = models.CharField(max_length=32)
    application_data = JsonTextField(
        null=True,
        help_text="The applicant's data, as any JSON that you and the lender agree on. Null if there is no data, or if "
        "it was erased.",
    )
    data_changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    applicants: Any = ApplicantsField(null=True)
    applicants_sha256 = models.CharField(  # noqa: DJ001
        max_length=64, null=True, help_text="Hash of the applicants, with a nonce. It stays when they are erased."
    )
    applicant_index = models.TextField(null=True, editable=False)  # noqa: DJ001  null without applicants
    notes = models.TextField(null=True, help_text="Human-readable notes. Null if there are none.")  # noqa: DJ001
    share: Any = JsonTextField(
        default=list,
        help_text="The data that the applicant shares with the lender: `bank`, `identity`. Empty if the applicant "
        "shares no data, or has ended the sharing.",
    )
    submitted_at = models.DateTimeField(
        null=True, help_text="When the application was first submitted (UTC). Null before then."
    )
    reviewed_at = models.DateTimeField(
        null=True, help_text="When a status change last approved or rejected the application (UTC). Null before then."
    )
    reviewed_by = models.CharField(  # noqa: DJ001
        max_length=255,
        null=True,
        help_text="The author of the last decision: the `updated_by` of the API request, or the reviewer's user name "
        "in the back office and the lender console. For an accepted or expired counteroffer, the counteroffer's "
        "`offered_by`. For an automatic decision, `model:<id>@<version>`. Null before the first decision.",
    )
    offer_version = models.IntegerField(null=True)
    offer_snapshot = JsonTextField(null=True)
    accepted_at = models.DateTimeField(
        null=True,
        help_text="When the applicant accepted the approval or the counteroffer (UTC). Null before the acceptance, and "
        "after the application is reopened.",
    )
    # These columns are for accepted agreements under Directive (EU) 2023/2225. Reopening an application clears them.
    told_of_right_at = models.DateTimeField(
        null=True, help_text="When the borrowers were informed of their right of withdrawal (UTC); null before then."
    )
    complete_since = models.DateTimeField(
        null=True, help_text="When the borrowers had the whole agreement and its information (UTC); null before then."
    )
    withdrawn_from_at = models.DateTimeField(
        null=True, help_text="When a borrower withdrew from the accepted agreement (UTC); null if there is none."
    )
    loan_terms = models.ForeignKey(
        "credit.LoanTerms",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        help_text="The approved terms, as of the day of the approval or of its acceptance.",
    )
    amount_cents = models.BigIntegerField(null=True, help_text="Copied from `application_data`, for lists.")
    counteroffer_moves = models.PositiveIntegerField(
        default=0, help_text="How often a counteroffer was created or ended; 0 saves a query."
    )
    created_at = models.DateTimeField(help_text="When the application was created (UTC).")

    machine = MACHINE
    invalid_transition = InvalidApplicationTransition

    class Meta:
        indexes = [
            models.Index(fields=["consumer", "-id"], name="credit_app_consumer"),
            models.Index(fields=["consumer", "status", "-id"], name="credit_app_consumer_status"),
            models.Index(fields=["status", "updated_at"], name="credit_app_status_age"),
            # This index is for the reviewers' queue, oldest first. It contains only applications that wait for review.
            models.Index(
                fields=["submitted_at", "id"], condition=Q(status__in=IN_REVIEW), name="credit_app_review_queue"
            ),
            # This index is for a lender's inbox, oldest first.
            models.Index(
                fields=["provider_id", "submitted_at", "id"],
                condition=Q(submitted_at__isnull=False),
                name="credit_app_inbox",
            ),
            models.Index(fields=["amount_cents", "-id"], name="credit_app_amount"),
            # This index is for searches by reference, which is the end of the ID.
            models.Index(Right(Cast("id", models.CharField()), 8), name="credit_app_reference"),
        ]
        constraints = [models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="credit_app_status_known")]
        permissions = [("review_application", "Can review applications")]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def shown_currency(self) -> str | None:
        """`Conventions.shown_currency` of the pinned offer, or of the current offer for a draft."""
        return self.draft_currency if self.offer_snapshot is None else self.conventions.shown_currency

    @property
    def currency(self) -> str:
        return self.shown_currency or DEFAULT_CURRENCY[US]

    @cached_property
    def draft_currency(self) -> str | None:
        """The currency of the application's EU offer, or None for other offers.

        List queries annotate this value with `WITH_CURRENCY`, so that no row needs a separate query.
        """
        offers = Offer.objects.filter(pk=self.offer_id, jurisdiction=EU)
        return offers.values_list("currency", flat=True).first()

    @property
    def readable_applicants(self) -> Applicants | None:
        """The applicants, or None if there are none.

        If no key can decrypt the applicants, the value is None, and an error is logged.
        """
        persons: Applicants | None = readable(lambda: self.applicants)
        return persons

    def is_reviewed_by(self, user: Any) -> bool:
        """Return whether `user` can decide this application, by permission or as a member of the lender."""
        return bool(user.is_active) and (
            user.has_perm(REVIEW_PERMISSION)
            or self.members_it_is_sent_to(user).filter(role__in=ProviderMember.DECIDING).exists()
        )

    def is_sent_to(self, user: Any) -> bool:
        return self.members_it_is_sent_to(user).exists()

    def is_only_read_by(self, user: Any) -> bool:
        if user.has_perm(REVIEW_PERMISSION):
            return False
        return self.members_it_is_sent_to(user).filter(role=ProviderMember.READER).exists()

    def members_it_is_sent_to(self, user: Any) -> models.QuerySet[ProviderMember]:
        return ProviderMember.objects.filter(
            provider_id=str(self.provider_id), provider__created_at__lte=self.created_at, user=user
        )

    @classmethod
    def has_reference(cls, end: str) -> Q:
        """Return the condition that the application's ID ends with these 8 digits, as in `reference_of`."""
        return Q(Exact(Right(Cast("id", models.CharField()), 8), end))

    @classmethod
    def visible_to(cls, user_id: Any) -> Q:
        """Return the condition for the applications that an account can read.

        An account can read its own applications. It can also read submitted applications that it reviews, or that were
        sent to its lender. Other accounts can't read the retained applications of erased accounts.
        """
        members = ProviderMember.objects.filter(
            user_id=user_id,
            provider_id=Cast(OuterRef("provider_id"), models.CharField()),
            provider__created_at__lte=OuterRef("created_at"),
        )
        return Q(consumer_id=user_id) | (
            ~Q(status=DRAFT)
            & ~Q(status__in=(WITHDRAWN, EXPIRED), initial_status=DRAFT, submitted_at__isnull=True)
            & Q(consumer__erased_at__isnull=True)
            & (holds(user_id, REVIEW_PERMISSION) | Q(Exists(members)))
        )

    def requestable(self) -> list[str]:
        """Return the transitions that a request can make.

        An accepted application can't be withdrawn. After a withdrawal from the agreement, the list is empty.
        """
        if self.withdrawn_from_at is not None:
            return []
        return [to for to in super().requestable() if to != WITHDRAWN or self.accepted_at is None]

    def derived_columns(self, transition: lifecycle.Transition) -> dict[str, Any]:
        columns: dict[str, Any] = {"status_reason": transition.reason}
        if transition.to == SUBMITTED and self.submitted_at is None:
            columns["submitted_at"] = transition.now
        if self.loan_terms_id and transition.to == UNDER_REVIEW:
            columns["loan_terms_id"] = None
        if transition.to in DECIDED:
            columns |= {"reviewed_at": transition.now, "reviewed_by": transition.changed_by}
        if self.accepted_at and transition.to == UNDER_REVIEW:
            columns |= dict.fromkeys(("accepted_at", "told_of_right_at", "complete_since"))
        return columns

    def write_transition(self, as_read: Mapping[str, Any], columns: Mapping[str, Any]) -> int:
        if self.status == APPROVED:
            # A concurrent acceptance, which changes `updated_at`, must prevent this transition.
            as_read = {**as_read, "updated_at": self.updated_at}
        if self.status == UNDER_REVIEW:
            as_read = {**as_read, "counteroffer_moves": self.counteroffer_moves}
        if self.status == DRAFT:
            # The score of the submission uses the data in `share`, so `share` must be unchanged.
            field: Any = self._meta.get_field("share")
            as_read = {**as_read, "share": field.get_prep_value(self.share)}
        return super().write_transition(as_read, columns)

    def lost_race(self, to: str) -> Exception:
        """Return the error of a transition after a concurrent transition or acceptance."""
        self.refresh_from_db(fields=["accepted_at", "updated_at", "counteroffer_moves"])
        return super().lost_race(to)

    @property
    def data_sha256(self) -> str:
        """Return the hexadecimal SHA-256 of the data's canonical JSON."""
        return sha256(canonical_json(self.application_data)).hexdigest()

    @property
    def reviewed_state(self) -> str:
        """Return the status, the hashes, and the score's number as text.

        A change of this state voids a proposed decision.
        """
        state = f"{self.status}:{self.moves}:{self.data_sha256}"
        if self.applicants_sha256 is not None:
            state = f"{state}:{self.applicants_sha256}"
        score = self.decision_score
        if score is None:
            return f"{state}:waiting" if self.score_waits else state
        return state if score.number == 1 else f"{state}:score{score.number}"

    @property
    def terms_sha256(self) -> str:
        """Return the hexadecimal SHA-256 of the pinned terms' canonical JSON.

        Without pinned terms, return the hash of the JSON value `null`.
        """
        return sha256(canonical_json(self.offer_snapshot)).hexdigest()

    @cached_property
    def provider_owner_id(self) -> int | None:
        """Return the ID of the account that owns the lender and receives the lender's events, or None."""
        return self.provider_owner(str(self.provider_id), self.created_at).values_list("owner_id", flat=True).first()

    @staticmethod
    def provider_owner(provider_id: Any, created_at: Any) -> models.QuerySet[Provider]:
        """Select the lender of an application. If the lender's ID was registered later, select nothing."""
        return Provider.objects.filter(pk=provider_id, created_at__lte=created_at)


class ApplicationHistory(lifecycle.StatusHistory):
    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="history", db_index=False)

    # The applicant's transition from `approved` to `withdrawn` declines the approved terms.
    IS_DECLINED = Q(status=WITHDRAWN, previous_status=APPROVED, principal=F("application__consumer"))

    @property
    def reason_code(self) -> str | None:
        """Return `declined_by_applicant` if the applicant withdrew an approved application, otherwise None."""
        is_withdrawn = (self.previous_status, self.status) == (APPROVED, WITHDRAWN)
        is_declined = is_withdrawn and self.principal_id == self.application.consumer_id
        return DECLINED_BY_APPLICANT if is_declined else None

    class Meta(lifecycle.StatusHistory.Meta):
        verbose_name_plural = "application history"
        constraints = [
            models.UniqueConstraint(fields=["application", "position"], name="credit_history_application_position")
        ]


def record_application_event(verb: str, application: Application, now: datetime, **members: Any) -> None:
    """Send an event to the applicant and, after the submission, to the lender's owner. `members` are extra fields.

    If an application is created in a later status than `draft`, the owner's first event has the name of that status.
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
