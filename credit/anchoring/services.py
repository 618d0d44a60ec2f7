"""Decisions as evidence: each is anchored in the ledger, so that nobody, including us, can rewrite it later.

The row to be anchored is written in the transaction of the decision (`Application.transition_to`); so is that of a
scoring model's publication. `anchor_due` carries such rows to service B over HTTP and keeps the proof that comes back.
Anchoring twice is harmless: the ledger answers a repeated record with its first entry. Decisions of one request are
anchored under that request's id (`X-Request-Id`), so that the ledger's log has it too.
"""

import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import transaction

from config.clients.provider import ProviderAnswer, ProviderError, call
from config.core.errors import NotFound
from config.core.json_text import canonical_json
from config.core.leases import due
from credit.anchoring import record_keys
from credit.models import Application, DecisionAnchor
from credit.scoring.scores import decision_scores, facts_of

BATCH_MAX = 100
_LEASE = timedelta(seconds=60)  # longer than the two deadlines of a batch's requests
_BACKOFF_MAX = timedelta(minutes=5)
_NONCE = re.compile("[0-9a-f]{32}")


def decisions_about(application: Application) -> list[DecisionAnchor]:
    """Return every decision in order; raises NotFound while nothing was decided here."""
    anchors = list(
        application.anchors.filter(history__isnull=False).select_related("history").order_by("history__position")
    )
    if not anchors:
        raise NotFound("No decision about this application has been recorded for the ledger.")
    return anchors


def bundle_of(application: Application) -> dict[str, Any]:
    """Return the texts that the newest decision's hashes and signature were made of, for `verify_decision.py`.

    Raises NotFound while nothing was decided.
    """
    anchor = decisions_about(application)[-1]
    score = decision_scores(application.pk).select_related("kept_facts").first() if anchor.tells_score else None
    kept = None if score is None else facts_of(score)
    persons = application.applicants
    if persons is not None and persons.sha256 != json.loads(anchor.record).get("applicants_sha256"):
        persons = None  # they changed since
    return {
        "record": anchor.record,
        "signature": anchor.shown_signature,
        "proof_file": anchor.kept_proof_file,
        "opening": anchor.opening,
        "definition": None if score is None else canonical_json(score.version.definition).decode(),
        "facts": None if kept is None else kept.facts,
        "nonce": None if kept is None else kept.nonce,
        "applicants": None if persons is None else canonical_json(persons.persons).decode(),
        "applicants_nonce": None if persons is None else b64encode(persons.nonce).decode(),
    }


def anchor_due(*, now: datetime) -> dict[str, int]:
    """Anchor what waits, at most BATCH_MAX records; return how many were anchored and how many failed.

    Each request's decisions go into one block.
    """
    record_keys.announce(now=now)
    anchors = _claim(now)
    if not anchors:
        return {"anchored": 0, "failed": 0}
    try:
        for request_id, decided in _by_request(anchors).items():
            for anchor, result in zip(decided, _anchor(decided, request_id), strict=True):
                _keep(anchor, result, request_id, now)
    except ProviderError as error:
        _postpone([anchor for anchor in anchors if anchor.anchored_at is None], error, now)
    anchored = sum(anchor.anchored_at is not None for anchor in anchors)
    return {"anchored": anchored, "failed": len(anchors) - anchored}


def _claim(now: datetime) -> list[DecisionAnchor]:
    """Take due rows for this worker: nobody else sees them until the lease is over."""
    waiting = DecisionAnchor.objects.filter(due("due_at", now=now, within=_BACKOFF_MAX), anchored_at__isnull=True)
    waiting = waiting.order_by("due_at").select_for_update(skip_locked=True, of=("self",))
    with transaction.atomic():
        anchors = list(waiting.select_related("application", "publication")[:BATCH_MAX])
        DecisionAnchor.objects.filter(pk__in=[anchor.pk for anchor in anchors]).update(due_at=now + _LEASE)
    return anchors


def _by_request(anchors: Sequence[DecisionAnchor]) -> dict[str, list[DecisionAnchor]]:
    grouped = defaultdict(list)
    for anchor in anchors:
        grouped[json.loads(anchor.record).get("request_id") or ""].append(anchor)
    return grouped


def _anchor(anchors: Sequence[DecisionAnchor], request_id: str) -> list[dict[str, Any]]:
    items = [
        {"user_id": str(anchor.subject_id), "report_type": anchor.report_type, "report_data": anchor.record}
        for anchor in anchors
    ]
    answer = _ask("POST", "/anchor/batch", request_id, json={"items": items}).json()
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(anchors):
        raise ProviderError("unreadable", outcome_unknown=True)
    for anchor, result in zip(anchors, results, strict=True):
        # The anchored record must equal our decision, even if the ledger answered.
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


def _postpone(anchors: Sequence[DecisionAnchor], error: ProviderError, now: datetime) -> None:
    for anchor in anchors:
        anchor.attempts += 1
        anchor.due_at = now + min(timedelta(seconds=2 ** min(anchor.attempts, 16)), _BACKOFF_MAX)
        anchor.last_error = error.word
    DecisionAnchor.objects.bulk_update(anchors, ["attempts", "due_at", "last_error"])
