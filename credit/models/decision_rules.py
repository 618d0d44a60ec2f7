"""The rules for decisions: permissions of reviewers, required content, and conditions that block a decision."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.functional import cached_property

from config.core.errors import ApiError, ValidationFailed
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor, ReviewerRequired, Role, SecondFactorRequired, StatefulModel
from config.core.names import shows_nothing
from credit.core import machine as states
from credit.core.applicants import FIRST
from credit.core.card import APPROVE, DECLINE, REFER
from credit.core.consumer_reports import RANK, reports_of, require_result, where_of
from credit.core.due import Due, OfferRequirements
from credit.core.errors import (
    InvalidApplicationTransition,
    ReasonsRequired,
    ReportPending,
    no_deciding_scope,
    require_specific,
)
from credit.core.eu_credit import TITLES, follows_directive
from credit.core.figures import Figures
from credit.core.jurisdictions import Conventions
from credit.core.reasons import INCOMPLETE, OTHER, REASONS, key_of, named_reasons
from credit.core.report_summary import LATEST
from credit.core.risk_based_pricing import SCORE_DISCLOSURE, is_best_rate
from credit.core.translations import document_title, in_language
from credit.models.documents import RequestedDocument
from credit.models.notices import ReviewRequest
from credit.models.scoring import Score

# A score can make these transitions without a reviewer.
AUTOMATIC = frozenset(
    {
        (states.SUBMITTED, states.UNDER_REVIEW),
        (states.UNDER_REVIEW, states.APPROVED),
        (states.UNDER_REVIEW, states.REJECTED),
    }
)
# These transitions require a notice to the applicant.
_NOTIFIED = frozenset({states.APPROVED, states.REJECTED, states.COUNTEROFFER, states.PENDING_DOCUMENTS})
# This maps the outcome of a score to the status that it proposes. The outcome `refer` proposes nothing.
PROPOSALS = {APPROVE: states.APPROVED, DECLINE: states.REJECTED}


class DecisionRules(StatefulModel):
    """The rules that transitions, proposals, and pages of an `Application` share."""

    # The rules use these columns and methods of `Application`.
    consumer_id: int
    provider_id: int
    created_at: datetime
    initial_status: str
    reviewed_at: datetime | None
    accepted_at: datetime | None
    withdrawn_from_at: datetime | None
    application_data: Any
    data_changed_by_id: int | None
    applicants: Any
    applicants_sha256: str | None
    offer_snapshot: Any
    loan_terms: Any
    counteroffer_moves: int
    counteroffers: Any
    review_requests: Any
    reports: Any
    requested_documents: Any
    is_reviewed_by: Any
    is_only_read_by: Any
    provider_owner: Any

    class Meta:
        abstract = True

    def check_transition(self, to: str, actor: Actor) -> ApiError | None:
        """Return the error that blocks this transition for `actor` under `REVIEW_POLICY`, or None.

        `open` follows the specification literally: every account that can read an application can make transitions.
        Members of the lender who can only read are the exception. `reviewed` reserves decisions for reviewers.
        `four_eyes` adds two rules. A reviewer can't be the applicant. The last account that changed the data can't
        approve, reject, or make a counteroffer. `credit.review` enforces the second reviewer. Under every policy, a
        scoped credential can make only the applicant's transitions. If `to` is `COUNTEROFFER`, the counteroffer is
        checked like a transition.
        """
        offers = (self.status, to) == (states.UNDER_REVIEW, states.COUNTEROFFER)
        role = Role.REVIEWER if offers else states.MACHINE.moves_from(self.status).get(to)
        is_ended = self.withdrawn_from_at is not None
        is_taken_up = self.accepted_at is not None and (is_ended or to in {states.WITHDRAWN, states.EXPIRED})
        is_none = role is None or is_taken_up or (role is Role.SYSTEM) != actor.is_system
        if is_none:
            return InvalidApplicationTransition.between(self, to)
        if actor.user is None:
            return self.check_automatic(to) if actor.is_model else None
        is_consumer = actor.user.pk == self.consumer_id
        if actor.limited and (role is Role.REVIEWER or not is_consumer):
            return no_deciding_scope()
        request = self.open_review_request if to in states.JUDGEMENTS else None
        decided_before = None if request is None else request.refusal_for(actor)
        if settings.REVIEW_POLICY == "open":
            only_reads = not is_consumer and self.is_only_read_by(actor.user)
            return ReviewerRequired() if only_reads else decided_before or self.check_score(to)
        if role is Role.OWNER or (is_consumer and role is Role.EITHER):
            only = ReviewerRequired("Only the applicant can make this transition.")
            return self.check_documents(to) if is_consumer else only
        refusal = self.check_reviewer(actor) or decided_before
        is_last_author = to in states.JUDGEMENTS and actor.user.pk == self.data_changed_by_id
        if refusal is None and is_last_author and settings.REVIEW_POLICY == "four_eyes":
            refusal = ReviewerRequired(
                "You made the last change of the application's data, so you can't decide the application. Another "
                "reviewer must decide."
            )
        return refusal or self.check_score(to) or self.check_creditor(to)

    def check_score(self, to: str) -> ApiError | None:
        """Return an error while the score waits for reports, which takes at most LATEST. Otherwise return None."""
        if (
            self.status != states.UNDER_REVIEW
            or to not in states.JUDGEMENTS
            or (until := self.score_waits_until) is None
        ):
            return None
        if until <= timezone.now():
            return None
        return ReportPending(
            f"The score of application {self.pk} waits for reports that the offer requests. "
            f"Decide when the reports have arrived, or after {rfc3339(until)}.",
            details={"from": self.status, "to": to, "until": rfc3339(until)},
        )

    def check_automatic(self, to: str) -> ApiError | None:
        """Return the error that prevents the score from making this transition without a reviewer, or None.

        After a reviewer's decision, only reviewers can decide. Under `four_eyes`, a reviewer must confirm each
        automatic rejection.
        """
        if settings.DECISIONING != "automatic" or (self.status, to) not in AUTOMATIC or self.reviewed_at is not None:
            return ReviewerRequired()
        if self.proposed_decision is None or to in states.DECIDED - {self.proposed_decision}:
            return ReviewerRequired("The score does not propose this decision.")
        if to == states.REJECTED and settings.REVIEW_POLICY == "four_eyes":
            return ReviewerRequired("A reviewer must confirm the decision.")
        return self.check_creditor(to)

    def check_creditor(self, to: str) -> ApiError | None:
        """Return an error if the decision's notice can't be sent, because the lender's name or address is missing."""
        if settings.REVIEW_POLICY == "open" or to not in _NOTIFIED or not self.creditor_lacks:
            return None
        titles = [TITLES[name] for name in self.creditor_lacks]
        *first, missing = titles
        if first:
            missing = f"{', no '.join(first)}{',' if len(first) > 1 else ''} and no {missing}"
        in_console = " or on the page *Team* of the lender console" if self.creditor_lacks == ["address"] else ""
        allowed = [status for status in self.requestable() if status not in _NOTIFIED]
        return InvalidApplicationTransition(
            f"Lender {self.provider_id} has no {missing}, which the applicant's documents must contain. "
            f"Its owner adds it with `PUT /v1/providers/{self.provider_id}`{in_console}.",
            details={"from": self.status, "to": to, "allowed": allowed, "missing": self.creditor_lacks},
        )

    @cached_property
    def creditor_lacks(self) -> list[str]:
        """Return the missing fields of the lender that are required in a notice or in documents of EU credit."""
        provider = self.provider_owner(str(self.provider_id), self.created_at).first()
        if provider is None:
            return []
        is_eu = follows_directive(self.offer_snapshot)
        lacks: list[str] = provider.lacks_for_eu_credit if is_eu else provider.lacks_for_notices
        return lacks

    @property
    def conventions(self) -> Conventions:
        """The pinned offer's jurisdiction, currency, APR method, and day count."""
        return Conventions.of(self.offer_snapshot)

    def check_reviewer(self, actor: Actor) -> ApiError | None:
        """Return the error that prevents `actor` from reviewing this application with the current log-in, or None."""
        if not self.is_reviewed_by(actor.user):
            return ReviewerRequired()
        if actor.lacks_second_factor:
            return SecondFactorRequired()
        if settings.REVIEW_POLICY == "four_eyes" and actor.user.pk == self.consumer_id:
            return ReviewerRequired("You can't review your own application.")
        return None

    @property
    def approves_worse(self) -> bool:
        """Return whether the amount or the term is below the request, or a scored rate is above the lowest rate."""
        terms, requested = self.loan_terms, Figures(self.application_data)
        if terms is None:
            return False
        is_less: bool = terms.amount_cents < (requested.amount_cents or 0)
        # A line of credit has no term, even if the application has one.
        is_less = is_less or (terms.term_months is not None and terms.term_months < (requested.term_months or 0))
        lowest = (self.offer_snapshot or {}).get("apr_min_percent")
        is_dearer = lowest is not None and not is_best_rate(self.offer_snapshot, terms.rate_percent)
        return is_less or (is_dearer and self.decision_score is not None)

    @property
    def is_scored_in_eu(self) -> bool:
        return Conventions.of(self.offer_snapshot).is_eu and self.decision_score is not None

    @property
    def is_reconsiderable(self) -> bool:
        """Return whether the applicant can request reconsideration of the decision.

        A rejection and an open counteroffer allow the request. An approval on worse terms also allows the request until
        the applicant accepts the approval. In the European Union, every approval with a score also allows it (Directive
        (EU) 2023/2225, Art. 18(8)(c)).
        """
        if self.status == states.UNDER_REVIEW and self.counteroffer_moves:
            return bool(self.counteroffers.filter(closed_at__isnull=True).exists())
        is_less = (
            self.status == states.APPROVED
            and self.accepted_at is None
            and (self.approves_worse or self.is_scored_in_eu)
        )
        return is_less or self.status == states.REJECTED

    @property
    def open_review_request(self) -> ReviewRequest | None:
        """The open request for reconsideration, or None.

        If the application had no decision and no counteroffer, this costs no query.
        """
        request: ReviewRequest | None = (
            self.review_requests.filter(answered_at__isnull=True).first() if self.was_decided else None
        )
        return request

    @property
    def was_decided(self) -> bool:
        """Return whether there was a decision or a counteroffer, so that a request for reconsideration can exist."""
        return self.reviewed_at is not None or self.initial_status == states.REJECTED or self.counteroffer_moves > 0

    def check_documents(self, to: str) -> ApiError | None:
        """Return an error if the applicant can't return the application to review, because a document has no file."""
        if (self.status, to) != (states.PENDING_DOCUMENTS, states.UNDER_REVIEW):
            return None
        missing = self.requested_documents.filter(status=RequestedDocument.REQUESTED)
        if not (names := list(missing.values_list("name", flat=True))):
            return None
        allowed = [status for status in self.requestable() if status != to]
        return InvalidApplicationTransition(
            f"Upload the requested documents first: {', '.join(names)}.",
            details={"from": self.status, "to": to, "allowed": allowed, "documents": names},
        )

    def require_reasons(self, to: str, *, reason: str | None, metadata: Any) -> None:
        """Raise ReasonsRequired if this transition lacks a required reason.

        If reviewers decide, a rejection requires its principal reasons. `application_incomplete` is a valid reason only
        while a requirement is missing. Two transitions require a `reason` text: reopening an accepted application, and
        deciding against the score's proposal. Raises ValidationFailed for an invalid `consumer_report`.
        """
        if to not in states.DECIDED and not self.accepted_at:
            return
        reports = self.reports_in(metadata, to) if to in states.DECIDED else []
        reasons = named_reasons(metadata) if to == states.REJECTED else []
        if to == states.REJECTED and settings.REVIEW_POLICY != "open":
            require_specific(reasons, has_report=bool(reports))
        self.check_incomplete(reasons)
        if reason is not None and not shows_nothing(reason):
            return
        if self.accepted_at and to == states.UNDER_REVIEW:
            raise ReasonsRequired("Reopening an accepted application requires a `reason`.")
        if to in states.DECIDED and self.goes_against_score(to):
            raise ReasonsRequired(
                f"The score proposes `{self.proposed_decision}`. Send in `reason` why your decision differs."
            )

    def reports_in(self, metadata: Any, to: str) -> list[dict[str, Any]]:
        """Parse the consumer reports of a decision's metadata. Raises ValidationFailed.

        If the offer discloses credit scores, each report with a score requires `ranks_above_percent`, except for a
        rejection.
        """
        reports = reports_of(metadata, applicants=len(list(self.applicants or ())) or FIRST, to=to)
        if to in {states.REJECTED, states.COUNTEROFFER} and Conventions.of(self.offer_snapshot).is_eu:
            # The rejection after a counteroffer's expiry uses the reports of the counteroffer.
            require_result(reports, to)
        if to != states.REJECTED and (self.offer_snapshot or {}).get("risk_based_pricing") == SCORE_DISCLOSURE:
            for position, report in enumerate(reports):
                if report["score"] is not None and report[RANK] is None:
                    message = "Required with a score: the offer discloses scores (12 CFR 1022.74(e)(1)(ii)(F))."
                    raise ValidationFailed.of_member(f"{where_of('consumer_report', to)}[{position}].{RANK}", message)
        return reports

    def check_incomplete(self, reasons: Sequence[Any]) -> None:
        """Raise ReasonsRequired if `application_incomplete` is a reason of a complete application."""
        if INCOMPLETE in reasons and not self.missing_titles():
            raise ReasonsRequired(
                f"`{INCOMPLETE}` must not be a reason: the application has everything that the offer and the "
                f"reviewers require.",
                details={"codes": [code for code in (*REASONS, OTHER) if code != INCOMPLETE]},
            )

    @cached_property
    def decision_score(self) -> Score | None:
        """The score that decides the application or proposes a decision, or None.

        Costs no query if the pinned offer has no scoring model.

        With `DECISIONING=off`, an earlier score stays stored, but decides and proposes nothing.
        """
        if settings.DECISIONING == "off" or not self.names_scoring_model:
            return None
        return Score.deciding(self.pk).select_related("kept_facts").defer("version__definition").first()

    @property
    def score_waits_until(self) -> datetime | None:
        """The time until which the score waits for reports at the latest, or None if it doesn't wait.

        Costs no query if the pinned offer requests no reports.
        """
        if not (self.offer_snapshot or {}).get("reports"):
            return None
        waited = self.reports.filter(score_waits=True).order_by("requested_at").values_list("requested_at", flat=True)
        requested_at: datetime | None = waited.first()
        return None if requested_at is None else requested_at + LATEST

    @property
    def score_waits(self) -> bool:
        return self.score_waits_until is not None

    def score_reasons_left_out(self, reasons: Sequence[Any]) -> list[Any]:
        """Return the score's reasons if a rejection for `reasons` has none of them, otherwise an empty list.

        If the score does not refer the application, the list is empty.
        """
        score = self.decision_score
        if score is None or score.outcome != REFER:
            return []
        named = {key_of(reason) for reason in reasons}
        return [] if named.intersection(map(key_of, score.reasons)) else list(score.reasons)

    @property
    def names_scoring_model(self) -> bool:
        return (self.offer_snapshot or {}).get("blockscore_model_id") is not None

    @property
    def proposed_decision(self) -> str | None:
        """The status that the score proposes, or None if there is no score or its outcome is `refer`."""
        return None if self.decision_score is None else PROPOSALS.get(self.decision_score.outcome)

    def goes_against_score(self, to: str) -> bool:
        """Check whether a decision, or a counteroffer, differs from the decision that the score proposes."""
        return to in states.JUDGEMENTS and self.proposed_decision not in {None, to}

    def missing_titles(self) -> list[str]:
        """Return the titles of the missing documents and of the other unmet requirements of the pinned offer.

        The titles are in the active language if the offer has them in this language.
        """
        offer = self.offer_snapshot
        names = self.requested_documents.filter(status=RequestedDocument.REQUESTED).values_list("name", flat=True)
        due = self.due(OfferRequirements.by(offer and in_language(offer)))
        titles = [item.title for item in due if item.type != "document"]
        documents = [*names, *(item.title for item in due if item.type == "document")]
        return list(dict.fromkeys([*(document_title(offer, name) for name in documents), *titles]))

    def due(self, requirements: OfferRequirements) -> list[Due]:
        """Return the offer's requirements that the application doesn't meet.

        If the offer requires documents, the function queries the database once.
        """
        documents = self.requested_documents.exclude(status=RequestedDocument.REQUESTED)
        return requirements.due(
            data=self.application_data,
            persons=self.applicants if requirements.applicant or self.applicants_sha256 else None,
            uploaded=documents.values_list("name", flat=True) if requirements.documents else (),
        )
