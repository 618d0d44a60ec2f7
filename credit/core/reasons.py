"""Why credit is refused: the principal reasons of Regulation B's sample notification.

The list is form C-1 in appendix C to 12 CFR 1002, and two of our own: an identity that could not be verified, and
inquiries that the applicant stated and no report shows.
A consumer who is turned down is owed the principal reasons, most important first; more than four are not likely to help
(comment 9(b)(2)-1). Codes are ours and stay: rows in the history name them.
"""

import re
from collections.abc import Sequence
from typing import Any

PRINCIPAL_MAX = 4

REASONS = {
    "application_incomplete": "Credit application incomplete",
    "references_insufficient": "Insufficient number of credit references provided",
    "references_unacceptable": "Unacceptable type of credit references provided",
    "references_unverifiable": "Unable to verify credit references",
    "employment_irregular": "Temporary or irregular employment",
    "employment_unverifiable": "Unable to verify employment",
    "employment_short": "Length of employment",
    "income_insufficient": "Income insufficient for amount of credit requested",
    "obligations_excessive": "Excessive obligations in relation to income",
    "income_unverifiable": "Unable to verify income",
    "residence_short": "Length of residence",
    "residence_temporary": "Temporary residence",
    "residence_unverifiable": "Unable to verify residence",
    "identity_unverifiable": "Unable to verify identity",
    "no_credit_file": "No credit file",
    "credit_experience_limited": "Limited credit experience",
    "performance_poor": "Poor credit performance with us",
    "obligations_delinquent": "Delinquent past or present credit obligations with others",
    "collection_or_judgment": "Collection action or judgment",
    "garnishment_or_attachment": "Garnishment or attachment",
    "foreclosure_or_repossession": "Foreclosure or repossession",
    "bankruptcy": "Bankruptcy",
    "inquiries_recent": "Number of recent inquiries on credit bureau report",
    "collateral_insufficient": "Value or type of collateral not sufficient",
}
OTHER = "other"
# 12 CFR 1002.9(b)(2): a score below a threshold, or internal standards, is not a specific reason.
_SAYS_NOTHING = re.compile(
    r"internal\s+(standard|polic|guideline|criteri)|(fail|insufficient|too\s+low|low|qualifying).{0,30}\bscor(e|ing)\b"
    r"|\bscor(e|ing)\b.{0,30}(too\s+low|insufficient|below|not\s+(high|met|reached|enough))",
    re.IGNORECASE,
)
OTHER_TEXT_MAX = 120

Reason = str | dict[str, str]


def reasons_of(metadata: Any) -> list[Reason]:
    """Return the principal reasons in `metadata.reasons`, most important first.

    Each is a code of REASONS or `{"code": "other", "text": …}`, with a text of at most OTHER_TEXT_MAX characters that
    says more than that a score or a standard was not met.
    Anything but one to PRINCIPAL_MAX such reasons, each named once, is an empty list.
    """
    given = metadata.get("reasons") if isinstance(metadata, dict) else None
    if not isinstance(given, list) or not 1 <= len(given) <= PRINCIPAL_MAX or not all(map(_is_reason, given)):
        return []
    return given if len(set(map(text_of, given))) == len(given) else []


def _is_reason(reason: Any) -> bool:
    if isinstance(reason, dict):
        text = reason.get("text")
        is_text = isinstance(text, str) and 0 < len(text.strip()) <= len(text) <= OTHER_TEXT_MAX
        is_one = reason.keys() == {"code", "text"} and reason["code"] == OTHER and is_text
        return is_one and _SAYS_NOTHING.search(reason["text"]) is None
    return isinstance(reason, str) and reason in REASONS


def key_of(reason: Reason) -> str:
    """Return what makes two reasons the same: the code, or the text of another; no text is a code."""
    return reason if isinstance(reason, str) else reason["text"]


def text_of(reason: Reason) -> str:
    return reason["text"] if isinstance(reason, dict) else REASONS[reason]


def in_words(reasons: Sequence[Reason]) -> str | None:
    return "; ".join(text_of(reason) for reason in reasons) + "." if reasons else None


def in_full(reasons: Sequence[Reason]) -> list[dict[str, str]]:
    return [{"code": one if isinstance(one, str) else one["code"], "text": text_of(one)} for one in reasons]
