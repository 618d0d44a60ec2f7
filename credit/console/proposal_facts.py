"""Display the proposals of an application: the proposed terms and reasons, and the entries of the timeline."""

from collections.abc import Iterator
from typing import Any

from django.utils import timezone
from django.utils.text import capfirst

from config.backoffice.html import day_in_words, spelled, time_in_words, words
from config.backoffice.personal import MASK
from config.backoffice.timeline import TimelineEntry
from config.core.errors import ApiError
from config.core.json_text import parse_rfc3339
from credit.core.loan_words import LOAN, in_words, rows_of, with_costs_of_line
from credit.core.machine import APPROVED, COUNTEROFFER, REJECTED
from credit.core.reasons import reasons_of, text_of
from credit.models import Application, LoanTerms, Proposal
from credit.models.review import RETURN_REASON, SCORE_REASON, as_members
from credit.terms.loans import compute, loan_of

_NOUNS = {APPROVED: "approval", REJECTED: "rejection", COUNTEROFFER: "a counteroffer"}
# The rows of the terms, the principal reasons, and the deadline replace these members of the metadata.
_DISPLAYED = {"terms", "reasons", "expires_at", RETURN_REASON}
_FIGURES = (*LOAN, "payment_cents", "final_payment_cents", "apr_percent", "total_of_payments_cents")


def decision_in_words(to: str) -> str:
    return _NOUNS.get(to, words(to))


def proposals_of(record: Application) -> list[Proposal]:
    """Return all proposals of an application, newest first, with their accounts. They are cached on `record`."""
    known: list[Proposal] | None = record.__dict__.get("shown_proposals")
    if known is None:
        rows = record.proposals.select_related("proposed_by", "closed_by").order_by("-id")
        known = record.__dict__["shown_proposals"] = list(rows)
    return known


def facts_of(record: Application, proposal: Proposal) -> list[tuple[str, Any]]:
    """Return rows about a proposal: the loan with its cost, the reasons in words, the proposer, and the time."""
    rows: list[tuple[str, Any]] = [("Decision", capfirst(decision_in_words(proposal.to)))]
    if getattr(proposal, "is_masked", False) or getattr(record, "is_masked", False):
        rows.append(("Terms and reasons", MASK))
    else:
        rows += [*_terms_of(record, proposal), *_reasons_of(proposal)]
    return [*rows, ("Proposed by", proposal.proposer), ("Proposed at", f"{time_in_words(proposal.proposed_at)} UTC")]


def _terms_of(record: Application, proposal: Proposal) -> list[tuple[str, Any]]:
    terms = proposal.terms
    if not terms:
        return []
    kind = LoanTerms.COUNTEROFFER if proposal.to == COUNTEROFFER else LoanTerms.APPROVAL
    try:
        loan = loan_of(record, terms)
        computed = None if loan is None else compute(record, loan, kind=kind, now=timezone.now(), bounded=False)
    except ApiError:
        computed = None
    if computed is None:
        return [("Loan", in_words(terms))]
    figures = with_costs_of_line(computed.to_dict(), record.offer_snapshot, start=computed.as_of)
    rows: list[tuple[str, Any]] = [*rows_of(figures, _FIGURES, start=computed.as_of)]
    until = parse_rfc3339(str(as_members(proposal.metadata).get("expires_at") or ""))
    return rows if until is None else [*rows, ("Last day to accept", day_in_words(until.date()))]


def _reasons_of(proposal: Proposal) -> Iterator[tuple[str, Any]]:
    reasons = [text_of(reason) for reason in reasons_of(proposal.metadata)]
    if reasons:
        yield "Principal reasons", "; ".join(reasons)
    if proposal.reason and proposal.reason != f"{'; '.join(reasons)}.":
        yield "Reason", proposal.reason
    if isinstance(proposal.metadata, dict):
        for name, value in proposal.metadata.items():
            if name not in _DISPLAYED:
                yield capfirst(name.replace("_", " ")), spelled(value)


def proposal_entries(record: Application) -> Iterator[TimelineEntry]:
    """Yield timeline entries of proposals. A confirmed approval or rejection has the entry of its transition."""
    for proposal in proposals_of(record):
        reasons = "; ".join(text_of(reason) for reason in reasons_of(proposal.metadata))
        terms = in_words(proposal.terms) if proposal.terms else ""
        against = as_members(proposal.metadata).get(SCORE_REASON)
        against = f"Against the score's proposal: {against}" if against else ""
        yield TimelineEntry(
            at=proposal.proposed_at,
            title=f"{proposal.proposer} proposed {decision_in_words(proposal.to)}",
            text="\n".join(filter(None, (terms, proposal.reason or reasons, against))),
            id=str(proposal.pk),
        )
        if proposal.closed_at is None or (proposal.outcome == Proposal.CONFIRMED and proposal.to != COUNTEROFFER):
            continue
        decision = decision_in_words(proposal.to)
        proposed = f"the proposal of {decision} by {proposal.proposer}"
        who = "the platform" if proposal.closed_by is None else proposal.closed_by.get_username()
        why = as_members(proposal.metadata).get(RETURN_REASON, "") if proposal.outcome == Proposal.DECLINED else ""
        yield TimelineEntry(
            at=proposal.closed_at,
            title={
                Proposal.CONFIRMED: f"{who} confirmed {decision}, proposed by {proposal.proposer}",
                Proposal.DECLINED: f"{who} returned {proposed}{':' if why else ''}",
                Proposal.WITHDRAWN: f"{who} withdrew the proposal of {decision}",
                Proposal.VOID: f"The proposal of {decision} by {proposal.proposer} became void",
            }[proposal.outcome],
            text=str(why),
            id=f"{proposal.pk}-end",
        )


def both_names(metadata: Any) -> tuple[tuple[str, str], ...]:
    """Return the two reviewers of a decision under four-eyes approval, from the metadata of its transition."""
    names = as_members(as_members(metadata).get("four_eyes"))
    proposed_by, confirmed_by = names.get("proposed_by"), names.get("confirmed_by")
    if not (isinstance(proposed_by, str) and isinstance(confirmed_by, str)):
        return ()
    return (("proposed by", proposed_by), ("confirmed by", confirmed_by))
