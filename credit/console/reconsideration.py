"""Start and reopen a review, and reconsider a decision, in the back office.

A new decision answers the applicant's request for reconsideration. Before the new decision, a decided case must be
reopened.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.bases import ReviewAdmin, TransitionForm
from config.backoffice.consoles import may
from config.backoffice.html import NOTHING, chip, moment, words
from config.backoffice.people import person_name
from config.backoffice.personal import mask
from config.backoffice.records import Button
from config.backoffice.timeline import TimelineEntry
from config.core.casework import Assignment, named
from config.core.encryption import UnreadableSecret
from config.core.errors import ApiError
from config.core.lifecycle import Actor
from credit.console.documents import missing_documents
from credit.console.notices import STATEMENT, VIEW_REQUESTS, days_left
from credit.core import machine as states
from credit.core.loan_words import in_words as loan_in_words
from credit.core.reasons import in_words, reasons_of
from credit.models import Application, ReviewRequest
from credit.review.services import takes_two


def reopens(record: Application, to: str) -> bool:
    return record.status in states.DECIDED and to == states.UNDER_REVIEW


class ReopeningConsole(ReviewAdmin):
    """If a reviewer who can decide a case starts or reopens its review, assign the case to this reviewer.

    A case that is assigned to another reviewer stays assigned to that reviewer.
    """

    def bar_of(self, record: Application, transitions: Iterable[Button]) -> tuple[list[Button], list[Button]]:
        """Show *Return to review* as a plain button while a requested document has no file."""
        actions, rare = super().bar_of(record, transitions)
        if record.status == states.PENDING_DOCUMENTS and missing_documents(record):
            actions = [replace(button, is_plain=button.name == states.UNDER_REVIEW) for button in actions]
        return actions, rare

    def consequences_of(self, record: Application, to: str) -> list[str]:
        lines = super().consequences_of(record, to)
        if (record.status, to) == (states.PENDING_DOCUMENTS, states.UNDER_REVIEW):
            lines += [f"The applicant has not uploaded “{name}” yet." for name in missing_documents(record)]
        return lines

    def effects_for(self, request: HttpRequest, record: Application, to: str) -> list[str]:
        if not self.is_assigned_at(request, record, to):
            return super().effects_for(request, record, to)
        other = self.other_assignee(request, record)
        text = "The case is assigned to you." if other is None else f"The case stays assigned to {person_name(other)}."
        return [*super().effects_for(request, record, to), text]

    def is_assigned_at(self, request: HttpRequest, record: Application, to: str) -> bool:
        """Check whether a transition assigns the record to the viewer, who starts or reopens the review."""
        if to != states.UNDER_REVIEW or record.status not in {states.SUBMITTED, *states.DECIDED}:
            return False
        review = record.open_review_request
        return review is None or review.refusal_for(self.actor_of(request)) is None

    def other_assignee(self, request: HttpRequest, record: Application) -> Any:
        """Return the assignee on the viewer's side (platform or lender), or None if the assignee is the viewer."""
        side = self.side_of(request, record)
        work = Assignment.in_force(self.review_permission, **named(record), provider=side).exclude(
            assignee=cast("Any", request.user)
        )
        assignment = work.select_related("assignee").first()
        return None if assignment is None else assignment.assignee

    def decide_locked(self, request: HttpRequest, record: Application, form: TransitionForm) -> str:
        is_assigned = self.is_assigned_at(request, record, form.to)
        message = super().decide_locked(request, record, form)
        if not is_assigned:
            return message
        if (other := self.other_assignee(request, record)) is not None:
            return f"{message} It stays assigned to {person_name(other)}."
        self.assign(request, record, request.user)
        return f"{message} It is assigned to you."


DECISION, REASONS = "Earlier decision", "Reasons of the decision"
_UPHOLD = {states.REJECTED: "Uphold the rejection", states.APPROVED: "Uphold the approval"}


class ReconsiderationConsole(ReviewAdmin):
    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        page = super().page_of(request, record)
        review = record.open_review_request if may(request.user, VIEW_REQUESTS) else None
        if review is None:
            return page
        shown = {
            "statement": _statement_of(review, is_masked=getattr(record, "is_masked", False)),
            "requested": moment(review.requested_at),
            "left": days_left(review.due_at, now=timezone.now()),
            "earlier": self.earlier_decision(record, review),
            "who": self.who_answers(request, review),
            "answers": self.answers_of(request, record, page["transitions"]) if page["may_review"] else [],
        }
        return {**page, "reconsideration": shown}

    def case_of(self, request: HttpRequest, record: Application) -> list[dict[str, Any]]:
        """Add the statement of an open request, and the decision that the applicant wants reconsidered."""
        rows = super().case_of(request, record)
        review = record.open_review_request if may(request.user, VIEW_REQUESTS) else None
        if review is None:
            return rows
        statement = _statement_of(review, is_masked=getattr(record, "is_masked", False))
        return [*rows, *self.earlier_decision(record, review), {"name": STATEMENT, "value": statement or NOTHING}]

    def refusal_of(self, record: Any, to: str, actor: Actor) -> ApiError | None:
        """Block the reopening for reviewers who must not answer the open request."""
        refusal = super().refusal_of(record, to, actor)
        if refusal is None and reopens(record, to) and (review := record.open_review_request) is not None:
            return cast("ApiError | None", review.refusal_for(actor))
        return refusal

    def button_label(self, to: str, record: Any) -> str:
        """Return a label with "Uphold" for the decision that equals the earlier decision."""
        label = super().button_label(to, record)
        is_answer = to in _UPHOLD and record.status not in states.DECIDED and record.open_review_request is not None
        if not is_answer or _decided_before(record) != to:
            return label
        return f"Propose to u{_UPHOLD[to][1:]}" if takes_two(to) else _UPHOLD[to]

    def consequences_of(self, record: Application, to: str) -> list[str]:
        lines = super().consequences_of(record, to)
        if to in states.JUDGEMENTS and record.open_review_request is not None:
            lines.append("The decision answers the applicant's request for reconsideration.")
        return lines

    def earlier_decision(self, record: Application, review: ReviewRequest) -> list[dict[str, Any]]:
        """Return the rows that describe the decision for which the applicant requests reconsideration.

        If the record is masked, mask the texts.
        """
        is_masked = getattr(record, "is_masked", False)
        return [
            {"name": name, "value": mask(value) if is_masked and name != DECISION else value}
            for name, value in _earlier(record, review.requested_at)
            if value
        ]

    def who_answers(self, request: HttpRequest, review: ReviewRequest) -> str:
        """Return a sentence with the reviewers of the earlier decision, who must not answer the request."""
        excluded = review.participant_ids()
        people = get_user_model()._default_manager.filter(pk__in=excluded).exclude(pk=review.application.consumer_id)
        names = [person_name(person) for person in people.order_by("username")]
        if request.user.pk in excluded:
            return "You took part in the earlier decision, so another reviewer must answer."
        if not names:
            return "Any reviewer except the applicant can answer."
        return f"{' and '.join(names)} took part in the earlier decision, so another reviewer must answer."

    def answers_of(
        self, request: HttpRequest, record: Application, transitions: Iterable[Button] | None = None
    ) -> list[Button]:
        """Return the buttons that answer the open request, or that reopen a decided case for the answer."""
        review = record.open_review_request
        if review is None or review.refusal_for(self.actor_of(request)) is not None:
            return []
        listed = self.transitions_of(request, record) if transitions is None else transitions
        buttons = {button.name: button for button in listed if not button.refusal}
        if record.status in states.DECIDED:
            reopen = buttons.get(states.UNDER_REVIEW)
            return [] if reopen is None else [replace(reopen, label="Reopen to answer")]
        earlier = _decided_before(record)
        order = sorted((states.REJECTED, states.APPROVED, states.COUNTEROFFER), key=lambda to: to != earlier)
        return [buttons[to] for to in order if to in buttons]


def _decided_before(record: Application) -> str | None:
    decided = record.history.filter(status__in=states.DECIDED).order_by("-position")
    return decided.values_list("status", flat=True).first()


def _earlier(record: Application, before: datetime) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the last decision or counteroffer. An imported decision has no history."""
    move = record.history.filter(status__in=states.DECIDED, changed_at__lte=before).order_by("-position").first()
    offered = record.counteroffers.filter(offered_at__lte=before).order_by("-id").first()
    if offered is not None and (move is None or offered.offered_at > move.changed_at):
        yield DECISION, _decided(states.COUNTEROFFER, offered.offered_at, person_name(offered.principal))
        yield "Terms of the counteroffer", loan_in_words(offered.loan_terms.to_dict())
        yield REASONS, in_words(reasons_of({"reasons": offered.reasons}))
    elif move is not None:
        who = move.changed_by if move.principal is None else person_name(move.principal)
        reasons = in_words(reasons_of(move.metadata))
        yield DECISION, _decided(move.status, move.changed_at, who)
        yield REASONS, reasons
        yield "Text to the applicant", None if move.reason == reasons else move.reason
    else:
        yield DECISION, _decided(record.initial_status, record.created_at, "")


def _decided(status: str, at: datetime, who: str) -> SafeString:
    return format_html("{} {}{}", chip(status), moment(at), f", by {who}" if who else "")


def _statement_of(review: ReviewRequest, *, is_masked: bool) -> str:
    try:
        statement = review.statement or ""
    except UnreadableSecret:
        return "No key in FIELD_ENCRYPTION_KEYS decrypts the statement."
    return mask(statement) if is_masked else statement


def request_entries(record: Application) -> Iterator[TimelineEntry]:
    """Yield timeline entries of the requests for reconsideration and of their answers."""
    for item in record.review_requests.all() if record.was_decided else ():
        yield TimelineEntry(
            at=item.requested_at,
            title="Reconsideration requested by the applicant",
            text=_statement_of(item, is_masked=False),
            id=str(item.pk),
        )
        if item.answered_at is not None:
            yield TimelineEntry(
                at=item.answered_at,
                title=f"Reconsideration answered by {item.answered_by or 'the platform'}: {words(item.outcome)}",
                id=f"{item.pk}-answer",
            )
