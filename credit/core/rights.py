"""The rights of an applicant after a decision with a score, as texts that legal counsel can replace.

DUTIES has a `Duty` for each jurisdiction, degree of automation, and outcome. For `us`, the duties come from Colorado's
SB 26-189, which the platform applies to all US states. An ECOA notice (12 CFR 1002.9) can replace the statement that SB
26-189 requires. For `eu`, the duties come from Directive (EU) 2023/2225 (CCD2), the GDPR, and Regulation (EU) 2024/1689
(AI Act).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from credit.core.jurisdictions import EU, US
from credit.core.machine import APPROVED, REJECTED

# NONE: no score was computed. ASSISTED: a person decided with a score. ALONE: a model decided without a person.
NONE, ASSISTED, ALONE = "none", "assisted", "alone"
WAYS = (NONE, ASSISTED, ALONE)
# WORSE is an approval or a counteroffer on materially worse terms than the applicant requested.
REJECTION, WORSE, APPROVAL = "rejection", "worse", "approval"
OUTCOMES = (REJECTION, WORSE, APPROVAL)


class Right(NamedTuple):
    """A sentence for the applicant, and the law that requires it."""

    text: str
    law: str


class Duty(NamedTuple):
    """The lender's duties: the notice before a decision (`before`), and the applicant's rights after it (`after`).

    The notice about a decision is due within `days`. If `days` is None, the explanation states no deadline.
    `credit.notices.clocks` computes the deadline of each notice, and `credit.notices.retention` its retention period.
    """

    before: tuple[Right, ...]
    after: tuple[Right, ...]
    days: int | None


_SCORED = gettext_noop("A score is computed automatically from your data, and the lender uses it for the decision.")
_BEFORE = {US: Right(_SCORED, "SB 26-189"), EU: Right(_SCORED, "CCD2 18(3)")}
_EU_PROCESSING = Right(
    gettext_noop("Your data are processed automatically. You can request that a person takes part in the decision."),
    "GDPR 13(2)(f), 22; CCD2 18(8)",
)
_REASONS = Right(gettext_noop("You can learn the principal reasons for the decision."), "12 CFR 1002.9(a)(2)")
_ROLE = Right(gettext_noop("You can learn which part the score had in the decision."), "SB 26-189")
_CORRECT = Right(gettext_noop("You can have wrong data corrected."), "SB 26-189; 15 USC 1681i")
_PERSON = Right(gettext_noop("You can request that a person reviews the decision."), "SB 26-189")
_HUMAN = Right(gettext_noop("You have the right to a human assessment."), "CCD2 18(8)")
_EXPLAIN = Right(
    gettext_noop(
        "You have the right to a clear and comprehensible explanation of the assessment of your creditworthiness: the "
        "logic and the risks of the automated processing of personal data, the procedure, the principles, and the data "
        "that were used, which change of the data would have changed the result, and the effects on the decision."
    ),
    "CCD2 18(8)(a); GDPR 15(1)(h); AI Act 86",
)
_VIEW = Right(
    gettext_noop("You have the right to express your own point of view to the lender."), "CCD2 18(8)(b); GDPR 22(3)"
)
_REVIEW = Right(
    gettext_noop(
        "You have the right to a review of the assessment and of the decision on your credit by a person, and to "
        "contest the decision."
    ),
    "CCD2 18(8)(c); GDPR 22(3)",
)
_RECTIFY = Right(gettext_noop("You can have wrong data corrected."), "GDPR 16")
_COMPLAIN = Right(gettext_noop("You can complain to a supervisory authority."), "GDPR 77; AI Act 85")
_TOLD = Right(gettext_noop("The lender informs you of the rejection without delay."), "CCD2 18(9)")
_ADVICE = Right(gettext_noop("The lender refers you to debt advice if that helps you."), "CCD2 18(9)")

# The US value comes from 12 CFR 1002.9(a)(1). The EU value is the platform's choice: the notice is due "without delay".
_US_DAYS = 30
_EU_DAYS = 3
_US_SCORED, _EU_SCORED = (_ROLE, _CORRECT, _PERSON), (_HUMAN, _EXPLAIN, _VIEW, _REVIEW, _RECTIFY, _COMPLAIN)
_EU_REJECTED = (_TOLD, _ADVICE)


def _duties() -> Iterator[tuple[tuple[str, str, str], Duty]]:
    for outcome in OUTCOMES:
        reasons, us_days = ((), None) if outcome == APPROVAL else ((_REASONS,), _US_DAYS)
        scored = (_ROLE, _CORRECT) if outcome == APPROVAL else _US_SCORED
        refused, eu_days = (_EU_REJECTED, _EU_DAYS) if outcome == REJECTION else ((), None)
        eu_before = (_BEFORE[EU], _EU_PROCESSING)
        yield (US, NONE, outcome), Duty((), (*reasons, _CORRECT), us_days)
        yield (EU, NONE, outcome), Duty((), (*refused, _RECTIFY, _COMPLAIN), eu_days)
        for way in (ASSISTED, ALONE):
            yield (US, way, outcome), Duty((_BEFORE[US],), (*reasons, *scored), us_days)
            yield (EU, way, outcome), Duty(eu_before, (*refused, *_EU_SCORED), eu_days)


DUTIES: dict[tuple[str, str, str], Duty] = dict(_duties())


def way_of(move: Any, score: Any) -> str:
    """Return NONE without a score, ALONE for a model's decision, or ASSISTED for a person's decision with a score."""
    if score is None:
        return NONE
    is_alone = move is not None and move.principal_id is None and move.credential.startswith("model:")
    return ALONE if is_alone else ASSISTED


def outcome_of(status: str, *, is_worse: bool) -> str:
    """Return the outcome of a decision from the new status. A counteroffer has the outcome WORSE."""
    if status == REJECTED:
        return REJECTION
    return APPROVAL if status == APPROVED and not is_worse else WORSE
