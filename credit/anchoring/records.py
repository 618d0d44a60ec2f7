"""Create the anchored record of an application: canonical JSON (RFC 8785). The ledger's proof covers every byte."""

from typing import Any, NamedTuple

from config.core.context import request_id
from config.core.json_text import canonical_json, is_safe, rfc3339
from config.core.lifecycle import StatusHistory
from credit.anchoring.fact_hashes import close, facts_in_record, result_of
from credit.core.machine import APPROVED, DECIDED, REJECTED
from credit.core.reasons import reasons_of
from credit.models.terms import NOT_RECORDED

_OF_THE_SCORE = ("model_id", "model_version", "definition_sha256", "facts_sha256", "certificate_sha256")


class Record(NamedTuple):
    """The anchored text, and the openings: the canonical JSON of the values and nonces behind its `hashes`.

    An erasure deletes the openings.
    """

    text: str
    openings: str


def record_about(application: Any, *, closed: dict[str, Any] | None = None, **members: Any) -> Record:
    """Return a record about the current state of an application.

    The record has only hashes of the consumer's ID and of the values of `closed`. IDs from 2^53 on are strings, because
    RFC 8785 can't represent such integers.
    """
    hashes, opened = close({"consumer_id": str(application.consumer_id), **(closed or {})})
    record = {
        "application_id": str(application.pk),
        "offer_id": _exact(application.offer_id),
        "offer_version": application.offer_version,
        "offer_terms_sha256": application.terms_sha256,
        "provider_id": _exact(application.provider_id),
        "request_id": request_id.get() or None,
        "hashes": hashes,
        **members,
    }
    return Record(canonical_json(record).decode(), canonical_json(opened).decode())


def _exact(number: int) -> int | str:
    return number if is_safe(number) else str(number)


def decision_record(application: Any, row: StatusHistory, counteroffer: Any = None) -> Record:
    """Return the record of a decision.

    `share` has the areas that the applicant shared with the lender. The score read no other shareable areas.
    `automated` means that no person took part. `terms` is the approved loan. `certificate_sha256` is null for
    scorecards that were published before certificates existed. `applicants_sha256` is the hash of the applicants with
    an erasable nonce, or null without applicants. `facts` has name, source, day, and hash of each fact that the score
    used. `facts` is null if there is no score, or if the facts were erased.

    `hashes` has the hashes of texts, IDs, the score's result, `application_data`, and the counteroffer that the
    decision closed. The name of the result is `person.score` if only the lender can read it, otherwise `score`.

    Version 1 had no `record_version`, `reasons`, `automated`, or `offer_terms_sha256`, and no fields of the score.
    Version 2 had no `terms`, `counteroffer`, or `applicants_sha256`. Version 3 had no `facts`. Up to version 3, the
    values that `hashes` now covers were fields of the record. Scores in records up to version 3 compared strings
    without normalization, and treated a value of the wrong type as missing. These scores could decline automatically
    although a value was missing. The JSON that was hashed for these scores had numbers as received (9.0 for 9), and
    keys sorted by code points.
    """
    scored: dict[str, Any] = dict.fromkeys(_OF_THE_SCORE)
    score = application.decision_score
    if score is not None:
        of_version = (score.version.model_id, score.version.number, score.version.definition_sha256)
        values = (*of_version, score.facts_sha256, score.version.certificate_sha256)
        scored = dict(zip(_OF_THE_SCORE, values, strict=True))
    closed = {
        "application_data_sha256": application.data_sha256,
        "changed_by": row.changed_by,
        "counteroffer": None if counteroffer is None else counteroffer.to_record(),
        "reason": row.reason,
        "reasons": reasons_of(row.metadata) if row.status == REJECTED else [],
        **({} if score is None else result_of(score)),
    }
    approves = row.status == APPROVED and application.loan_terms is not None
    return record_about(
        application,
        closed=closed,
        **scored,
        facts=None if score is None else facts_in_record(score),
        **(application.loan_terms.to_record() if approves else NOT_RECORDED),
        record_version=4,
        applicants_sha256=application.applicants_sha256,
        share=application.share,
        decision=row.status if row.status in DECIDED else "reopened",
        previous_status=row.previous_status,
        position=row.position,
        automated=row.principal_id is None and counteroffer is None,
        decided_at=rfc3339(row.changed_at),
    )
