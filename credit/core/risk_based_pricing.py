"""The notices that an offer requires if its prices depend on consumer reports (12 CFR 1022.70-75).

If a report makes an applicant's terms worse than the offer's best terms, the applicant receives a *risk-based pricing
notice* (1022.72). An offer can instead disclose the score to every applicant (1022.74(e), or (f) without a score).
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

NOTICE, SCORE_DISCLOSURE, NOT_APPLICABLE = METHODS = ("notice", "score_disclosure", "not_applicable")
# An offer with one of these reasons requires neither pricing notices nor score disclosures.
REASONS = {
    "business_credit": "The credit is primarily for business purposes (12 CFR 1022.70(a)).",
    "same_terms": "Every applicant gets the same terms (12 CFR 1022.72(a)).",
    "reports_not_used": "No consumer report affects the terms (12 CFR 1022.72(a)).",
    "requested_terms": "Applicants get the specific terms that they request (12 CFR 1022.74(a)).",
    "prescreened": "The offer is a firm offer of credit (12 CFR 1022.74(c)).",
    "home_secured": "A home secures the credit, and the lender discloses the score itself (12 CFR 1022.74(d)).",
}
# The rate of a loan has this precision.
_STEP = Decimal("0.0001")


def is_best_rate(offer: Mapping[str, Any], rate_percent: Decimal | None) -> bool:
    """Return whether the rate is the offer's lowest rate (1022.72(b)(2)). If either rate is unknown, return False."""
    lowest = offer.get("apr_min_percent")
    return lowest is not None and rate_percent is not None and rate_percent - Decimal(str(lowest)) < _STEP


def pricing_notice_applicants(
    offer: Mapping[str, Any] | None, reports: list[dict[str, Any]], rate_percent: Decimal | None
) -> list[int]:
    """Return the numbers of the applicants who must receive a pricing notice for an approval or counteroffer.

    `offer` is the pinned offer. Each applicant with a report receives a separate notice (1022.75(c)). If the offer does
    not set `risk_based_pricing`, the rules for risk-based pricing notices apply.
    """
    offer = offer or {}
    method = offer.get("risk_based_pricing") or NOTICE
    if method == NOT_APPLICABLE or (method == NOTICE and is_best_rate(offer, rate_percent)):
        return []
    return sorted({report["applicant"] for report in reports})


def blocks_for(offer: Mapping[str, Any] | None, reports: list[dict[str, Any]]) -> list[str]:
    """Return the names of the template blocks of an applicant's pricing notice, in order."""
    scored = [report["score"] is not None for report in reports]
    if (offer or {}).get("risk_based_pricing") != SCORE_DISCLOSURE:
        return ["pricing", *(["pricing_score"] if any(scored) else []), "creditor"]
    disclosures = [*(["score_disclosure"] if any(scored) else []), *(["no_score"] if not all(scored) else [])]
    return [*disclosures, "free_reports", "creditor"]
