"""Fixed IDs of the demo's records.

The examples of the OpenAPI documents contain these IDs, so that they refer to existing records. Numeric IDs are the
first IDs in a new database. This module must not import Django.
"""

from typing import Any
from uuid import UUID


def _known(number: int) -> UUID:
    """Return a UUIDv7 of June 2024, so that all later records follow the demo's records in lists."""
    return UUID(f"01900000-0000-7000-8000-{number:012d}")


def booked(number: int) -> UUID:
    """Return the ID of a demo application from the last 90 days. The first number is 1."""
    return _known(1_000 + number)


DEMO_USER = 1
# This is a customer of the demo account, which is also a partner.
MANAGED_USER = 3

# Applications, oldest first.
EXPIRED, LEFT_ALONE, WITHDRAWN, REJECTED, APPROVED, WAITS_FOR_DOCUMENTS, UNDER_REVIEW, SUBMITTED, DRAFT = (
    _known(100 + number) for number in range(1, 10)
)
SCORED = _known(110)
DOCUMENT_ASKED_FOR, DOCUMENT_RECEIVED, DOCUMENT_FILE = _known(120), _known(121), _known(122)
REPORT = _known(123)
OFFER, PROVIDER = 1, 1001
OWN_PROVIDER = 1003
INVITATION = _known(130)
# The counteroffer for the application under review waits for the demo account's response.
COUNTEROFFER = _known(140)
# The demo account reports a wrong value in the scored application.
CORRECTION = _known(150)
SCORING_MODEL, CHAMPION, CHALLENGER = 1, 1, 2

CLAIM_APPROVED, CLAIM_PENDING, CLAIM_DISPUTED, CLAIM_DRAFT, CLAIM_TO_DELETE, CLAIM_REVOKED = (
    _known(200 + number) for number in range(1, 7)
)
NOTE_TO_APPROVE, NOTE_TO_REJECT, STAGED_CLAIM = (_known(300 + number) for number in range(1, 4))
VERIFIED, OPEN_VERIFICATION = _known(401), _known(402)
# The demo account exchanged a public token for this item in the sandbox.
BANK_ITEM = "item-sandbox-b2966539a26d59c0501d31f3"
KEY_TO_COLLECT, KEY_TO_ROTATE, KEY_TO_REVOKE = "demo00000001", "demo00000002", "demo00000003"
EXPIRING_KEY = "demo00000004"  # a staff account
OAUTH_CLIENT, OAUTH_CLIENT_TO_DELETE = "demo-client-1", "demo-client-2"
ACCOUNT_INVITATION = _known(403)
CONSENT, EXPORT, MANAGED_EXPORT = _known(404), _known(405), _known(406)
PHONE_WALLET, OLD_WALLET = _known(501), _known(502)
SUBMITTED_PAYMENT, UNSIGNED_PAYMENT = _known(511), _known(512)
# A line in the request log has this ID.
REQUEST = _known(600)
ENDPOINT, DELIVERY, FAILING_ENDPOINT = _known(601), _known(602), _known(603)

# `make run` anchors these reports, so that the ledger can return a proof immediately.
REPORTS: list[dict[str, Any]] = [
    {"user_id": "demo", "report_type": "credit_report", "report_data": text}
    for text in ("What the demo's report says.", "What the demo's second report says.")
]
