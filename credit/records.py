"""What is anchored of an application: canonical JSON, of which the ledger's proof proves every byte."""

from typing import Any

from config.core.context import request_id
from config.core.json_text import canonical_json, rfc3339
from config.core.lifecycle import StatusHistory
from credit.machine import DECIDED, REJECTED
from credit.reasons import reasons_of

_OF_THE_SCORE = ("model_id", "model_version", "definition_sha256", "facts_sha256", "total", "outcome", "score_reasons")


def record_about(application: Any, **members: Any) -> str:
    """Return the canonical JSON of a record about an application as it is now."""
    record = {
        "application_id": str(application.pk),
        "consumer_id": str(application.consumer_id),
        "offer_id": application.offer_id,
        "offer_version": application.offer_version,
        "offer_terms_sha256": application.terms_sha256,
        "provider_id": application.provider_id,
        "request_id": request_id.get() or None,
        **members,
    }
    return canonical_json(record).decode()


def decision_record(application: Any, row: StatusHistory) -> str:
    """Return the canonical JSON of a decision.

    `score_reasons` are what the score itself gives, `reasons` are the decision's; `automated` says that no person had a
    part in it. Version 1 had no `record_version`, `reasons`, `automated` and `offer_terms_sha256`, and nothing of the
    score.
    """
    scored: dict[str, Any] = dict.fromkeys(_OF_THE_SCORE)
    if (score := application.decision_score) is not None:
        version = score.version
        told = (version.model_id, version.number, version.definition_sha256, score.facts_sha256)
        scored = dict(zip(_OF_THE_SCORE, (*told, score.total, score.outcome, score.reasons), strict=True))
    return record_about(
        application,
        **scored,
        record_version=2,
        application_data_sha256=application.data_sha256,
        decision=row.status if row.status in DECIDED else "reopened",
        previous_status=row.previous_status,
        position=row.position,
        changed_by=row.changed_by,
        reason=row.reason,
        reasons=reasons_of(row.metadata) if row.status == REJECTED else [],
        automated=row.principal_id is None,
        decided_at=rfc3339(row.changed_at),
    )
