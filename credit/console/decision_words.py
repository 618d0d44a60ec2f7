"""The texts of decisions: messages on a case page, labels of transitions, and the effects on the page of a decision."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings

from config.backoffice.bases import ReviewAdmin
from config.backoffice.forms import TransitionForm
from config.backoffice.html import words
from credit.applications.services import IDLE_DAYS
from credit.console.queues import UNDECIDED
from credit.console.reconsideration import reopens
from credit.console.score_words import PROPOSALS
from credit.core import machine as states
from credit.core.card import APPROVE
from credit.core.reasons import Reason, in_words, key_of
from credit.models import Application
from credit.models.scoring import Score
from credit.review.services import takes_two, warning_about


class DecisionWords(ReviewAdmin):
    """The texts of an application's transitions."""

    def notices_of(self, record: Any) -> list[str]:
        notices = []
        if record.initial_status != states.DRAFT:
            began = f"This application began as “{words(record.initial_status)}”."
            notices.append(f"{began} The platform has no earlier decision.")
        changes = sum(revision.status in UNDECIDED for revision in record.newest_revisions)
        if changes and record.status not in states.DECIDED:
            notices.append(f"The data changed {changes} time(s) after submission. The timeline shows when and by whom.")
        if warning := warning_about(record):
            notices.append(warning)
        return notices

    def consequences_of(self, record: Application, to: str) -> list[str]:
        lines = super().consequences_of(record, to)
        is_reopening = reopens(record, to)
        if is_reopening:
            lines.append(f"This reverses the decision “{words(record.status)}”.")
            if takes_two(states.REJECTED):
                lines.append(
                    "Reopening needs no second reviewer. The new decision needs two reviewers before it takes effect."
                )
        lines += _lines_of_score(record, to)
        if to in states.DECIDED:
            digest = record.data_sha256
            lines.append(f"The decision is bound to the data that you see (SHA-256 {digest[:8]}…{digest[-8:]}).")
        if (to in states.DECIDED or is_reopening) and settings.ANCHOR_DECISIONS:
            lines.append("The decision is anchored in the ledger.")
        if to == states.PENDING_DOCUMENTS:
            lines.append("The applicant sees a checklist of the documents.")
        if to in IDLE_DAYS:
            lines.append(f"The application expires after {IDLE_DAYS[to]} days without activity.")
        # Counteroffers have their own lines about the applicant.
        if to != states.COUNTEROFFER:
            lines.append("The applicant can read the new status and the reason, and gets an event.")
        if takes_two(to):
            bound = "If the record or its data change, the proposal is void."
            return ["Your decision is a proposal until another reviewer confirms it. Then:", *lines, bound]
        return lines

    def beside_form(self, record: Application, form: TransitionForm) -> dict[str, Any]:
        """Add a warning above the form of a decision that differs from the score's proposal."""
        return {**super().beside_form(record, form), "warning": _override(record, form.to)}

    def label_of(self, to: str, record: Application | None = None) -> str:
        if record is not None and to == states.UNDER_REVIEW and record.status != states.SUBMITTED:
            return "Reopen" if record.status in states.DECIDED else "Return to review"
        return super().label_of(to, record)


def _override(record: Application, to: str) -> str:
    """Return the warning about a decision that differs from the score's proposal, or ""."""
    score = record.decision_score if record.goes_against_score(to) else None
    if score is None:
        return ""
    proposal = PROPOSALS.get(score.outcome, score.outcome)
    different = "a counteroffer requires a reason, which colleagues read on the case."
    if to != states.COUNTEROFFER:
        different = "a different decision requires a reason, which colleagues read, and counts as an override."
    return f"The score, {score.total}, proposes to {proposal} it: {different}"


def reasons_without_value(score: Score) -> list[Reason]:
    """Return the reasons of a score that come only from missing values.

    These reasons can be untrue for the applicant.
    """
    card = score.version.card
    rows = zip(card.characteristics, score.points, strict=True)
    losses = {
        (key_of(scored.reason), scored.bins[position].is_missing)
        for scored, (_, position, points, baseline) in rows
        if points < baseline
    }
    known = {key for key, is_missing in losses if not is_missing} | {key_of(rule.reason) for rule in card.knockouts}
    missing = {key for key, is_missing in losses if is_missing} - known
    return [reason for reason in score.reasons if key_of(reason) in missing]


def _lines_of_score(record: Application, to: str) -> Iterator[str]:
    if (
        to in {states.REJECTED, states.COUNTEROFFER}
        and (score := record.decision_score)
        and score.outcome != APPROVE
        and (missing := reasons_without_value(score))
    ):
        yield (
            f"These reasons of the score come only from missing values, so the form doesn't select them: "
            f"{in_words(missing)} Select them only if they apply to the applicant."
        )
    if to == states.REJECTED and (left_out := record.score_reasons_left_out([])):
        yield (
            f"The score referred the application because of: {in_words(left_out)} Select those that are "
            "principal reasons."
        )
