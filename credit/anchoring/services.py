"""Anchor each decision in the ledger, so that later changes, even by the operator, can be detected.

The transaction of a decision (`Application.transition_to`) or of a publication also creates the row to anchor.
`anchor_due` sends these rows to service B over HTTP, and stores the returned proofs. Anchoring is idempotent: for a
repeated record, the ledger returns the first entry. Requests to the ledger have the `X-Request-Id` of the request that
made the decision, so that the ledger's log contains this ID.
"""

import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from config.clients.provider import ProviderAnswer, ProviderError, call
from config.core.errors import NotFound
from config.core.json_text import canonical_json
from config.ops.failed_items import FailedItems
from credit.anchoring import record_keys
from credit.anchoring.fact_hashes import openings, without_person
from credit.models import Application, DecisionAnchor, Score

BATCH_MAX = 100
_LEASE = timedelta(seconds=60)  # the lease must exceed the two deadlines of a batch's requests
_BACKOFF_MAX = timedelta(minutes=5)
# These errors of the ledger concern a single record, not the ledger itself.
_REFUSALS = frozenset({"contradiction", *(f"status {status}" for status in (400, 409, 413, 422))})
_NONCE = re.compile("[0-9a-f]{32}")


def decisions_about(application: Application) -> list[DecisionAnchor]:
    """Return the records of all decisions about an application, in order. Raises NotFound if there are none."""
    anchors = list(
        application.anchors.filter(history__isnull=False).select_related("history").order_by("history__position")
    )
    if not anchors:
        raise NotFound("The application has no decision record for the ledger.")
    return anchors


def bundle_of(application: Application, *, for_applicant: bool = False) -> dict[str, Any]:
    """Return the bundle of the newest decision.

    From the bundle, `verify_decision.py` checks the hashes and the signature. For an applicant, the bundle omits facts
    about other applications, and a result that reveals these facts. If the score has such facts, the bundle also omits
    `facts` and the common nonce, which would disclose the facts. Raises NotFound without a decision.
    """
    anchor = decisions_about(application)[-1]
    score = _score_of(anchor, application) if anchor.includes_score else None
    kept = None if score is None else score.facts_if_kept
    if score is None or (for_applicant and score.is_withheld):
        kept = None
    opened: dict[str, Any] = {
        "facts_opening": None if score is None else openings(score),
        "openings": json.loads(anchor.openings) if anchor.openings else None,
    }
    if for_applicant:
        opened = {name: values and without_person(values) for name, values in opened.items()}
    persons = application.applicants
    if persons is not None and persons.sha256 != json.loads(anchor.record).get("applicants_sha256"):
        # If the applicants changed after the decision, the record has no hash of them.
        persons = None
    return {
        "record": anchor.record,
        "signature": anchor.signature_and_key,
        "proof_file": anchor.kept_proof_file,
        "opening": anchor.opening,
        "definition": None if score is None else canonical_json(score.version.definition).decode(),
        "certificate": None if score is None else score.version.certificate_text,
        "facts": None if kept is None else kept.facts,
        "nonce": None if kept is None else kept.nonce,
        **{name: None if values is None else canonical_json(values).decode() for name, values in opened.items()},
        "applicants": None if persons is None else canonical_json(persons.persons).decode(),
        "applicants_nonce": None if persons is None else b64encode(persons.nonce).decode(),
    }


def _score_of(anchor: DecisionAnchor, application: Application) -> Score | None:
    """Find the score of a decision by the hash of its facts, because later scores have other hashes."""
    named = json.loads(anchor.record)["facts_sha256"]
    return Score.deciding(application.pk).select_related("kept_facts").filter(facts_sha256=named).first()


def anchor_due(*, now: datetime) -> dict[str, int]:
    """Anchor up to BATCH_MAX waiting records. Return the numbers of anchored and failed records.

    Decisions that the same request made are anchored in the same block.
    """
    keys = FailedItems("record_key", record_keys.unannounced(), lease=_LEASE)
    failed = keys.process(partial(record_keys.announce_key, now=now), now=now)
    anchored = claimed_count = 0
    items = FailedItems("record", DecisionAnchor.objects.filter(anchored_at__isnull=True), lease=_LEASE)
    items.review(now=now)
    suspects = [DecisionAnchor.objects.filter(pk=key) for key in items.suspects(now=now)]
    for rows in (items.takeable(now=now), *suspects):
        if claimed := _claim(rows, now):
            with items.mark(claimed):
                anchored += _anchor_claimed(items, claimed, now)
            claimed_count += len(claimed)
    return {"anchored": anchored, "failed": failed + claimed_count - anchored}


def _claim(rows: QuerySet[DecisionAnchor], now: datetime) -> list[UUID]:
    """Claim due rows for this worker. Until the lease expires, other workers skip them."""
    waiting = rows.filter(due_at__lte=now, anchored_at__isnull=True).order_by("due_at")
    with transaction.atomic():
        keys = list(waiting.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH_MAX])
        DecisionAnchor.objects.filter(pk__in=keys).update(due_at=now + _LEASE)
    return keys


class _Waiting(NamedTuple):
    anchor: DecisionAnchor
    item: dict[str, Any]


def _anchor_claimed(items: "FailedItems[DecisionAnchor]", keys: Sequence[UUID], now: datetime) -> int:
    """Anchor claimed records, grouped by request. Return the number of anchored records."""
    grouped: dict[str, list[_Waiting]] = defaultdict(list)
    for key in keys:
        try:
            anchor = DecisionAnchor.objects.select_related("publication", "application").get(pk=key)
            about = {"user_id": str(anchor.subject_id), "report_type": anchor.report_type}
            waiting = _Waiting(anchor, {**about, "report_data": anchor.record})
            grouped[_request_of(anchor)].append(waiting)
        except Exception as error:  # noqa: BLE001  because an error of a record must not stop other records
            items.fail(key, error, now=now)
    anchored, left = 0, [waiting.anchor for group in grouped.values() for waiting in group]
    try:
        for request_id, group in grouped.items():
            anchored += _anchor_group(items, group, request_id, left, now)
    except ProviderError as error:
        _postpone(left, error.word, now)
    return anchored


def _request_of(anchor: DecisionAnchor) -> str:
    """Return the ID of the request that made the decision, or "".

    Raises ValueError if the record is about another application.
    """
    record = json.loads(anchor.record)
    if anchor.application_id is not None and record["application_id"] != str(anchor.application_id):
        raise ValueError("The record is about another application.")
    return record.get("request_id") or ""


def _anchor_group(
    items: "FailedItems[DecisionAnchor]",
    group: list[_Waiting],
    request_id: str,
    left: list[DecisionAnchor],
    now: datetime,
) -> int:
    """Anchor records together, or separately if the ledger rejects them. Return the number of anchored records.

    Removes the processed records from `left`. Raises ProviderError if the ledger can't be reached.
    """
    try:
        results = _anchor(group, request_id)
    except ProviderError as error:
        if error.word not in _REFUSALS:
            raise
        if len(group) > 1:
            return sum(_anchor_group(items, [waiting], request_id, left, now) for waiting in group)
        _fail(items, group[0].anchor, error, left, now)
        return 0
    anchored = 0
    for (anchor, _), result in zip(group, results, strict=True):
        try:
            _keep(anchor, result, request_id, now)
        except ProviderError as error:
            if error.word not in {*_REFUSALS, "status 404", "unreadable"}:
                raise
            _fail(items, anchor, error, left, now)
        except Exception as error:  # noqa: BLE001  because an invalid proof must not stop other records
            _fail(items, anchor, error, left, now)
        else:
            left.remove(anchor)
            items.succeed([anchor.pk])
            anchored += 1
    return anchored


def _fail(
    items: "FailedItems[DecisionAnchor]",
    anchor: DecisionAnchor,
    error: Exception,
    left: list[DecisionAnchor],
    now: datetime,
) -> None:
    left.remove(anchor)
    name = items.fail(anchor.pk, error, now=now)
    _postpone([anchor], getattr(error, "word", name), now)


def _anchor(group: Sequence[_Waiting], request_id: str) -> list[dict[str, Any]]:
    answer = _ask("POST", "/anchor/batch", request_id, json={"items": [item for _, item in group]}).json()
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(group):
        raise ProviderError("unreadable", outcome_unknown=True)
    for (anchor, _), result in zip(group, results, strict=True):
        # A successful response can be about another record.
        if (
            not isinstance(result, dict)
            or result.get("hash") != anchor.record_sha256
            or _NONCE.fullmatch(str(result.get("nonce"))) is None
        ):
            raise ProviderError("contradiction", outcome_unknown=True)
    return results


def _keep(anchor: DecisionAnchor, result: dict[str, Any], request_id: str, now: datetime) -> None:
    path, which = f"/proof/{anchor.record_sha256}", {"index": str(result.get("index"))}
    anchor.proof = _ask("GET", path, request_id, params=which).json()
    anchor.proof_file = _ask("GET", f"{path}.tlog-proof", request_id, params=which).body.decode()
    anchor.block_number = result.get("block_number")
    anchor.nonce = result["nonce"]
    anchor.anchored_at = now
    anchor.last_error = ""
    anchor.save(update_fields=["proof", "proof_file", "block_number", "nonce", "anchored_at", "last_error"])


def _ask(method: str, path: str, request_id: str, **sent: Any) -> ProviderAnswer:
    headers = {"X-Request-Id": request_id} if request_id else {}
    if settings.LEDGER_CLIENT_KEY:
        headers["X-API-Key"] = settings.LEDGER_CLIENT_KEY
    answer = call(method, settings.CHAIN_URL + path, headers=headers, ca_file=settings.LEDGER_CA_FILE, **sent)
    if answer.status != HTTPStatus.OK:
        raise ProviderError(f"status {answer.status}", outcome_unknown=True)
    return answer


def _postpone(anchors: Sequence[DecisionAnchor], word: str, now: datetime) -> None:
    for anchor in anchors:
        anchor.attempts += 1
        anchor.due_at = now + min(timedelta(seconds=2 ** min(anchor.attempts, 16)), _BACKOFF_MAX)
        anchor.last_error = word
    DecisionAnchor.objects.bulk_update(anchors, ["attempts", "due_at", "last_error"])
