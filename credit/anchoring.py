"""Decisions as evidence: what was decided is anchored in the ledger, so that nobody can rewrite it later, we included.

The row to be anchored is written in the transaction of the decision (`Application.transition_to`). `anchor_due` carries
such rows to service B over HTTP and keeps the proof that comes back. Anchoring twice is harmless: the ledger answers a
repeated record with its first entry. What one request decided is anchored under that request's id (`X-Request-Id`), so
that the ledger's log names it too.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import requests
from django.conf import settings
from django.db import connection, transaction

from config.clients.provider import ProviderAnswer, ProviderError, call, outbound_session
from config.core.errors import NotFound
from config.core.leases import due
from credit.models import Application, DecisionAnchor

REPORT_TYPE = "application_decision"
BATCH_MAX = 100
_LEASE = timedelta(seconds=60)  # longer than the two deadlines of a batch's requests
_BACKOFF_MAX = timedelta(minutes=5)


def decisions_about(application: Application) -> list[DecisionAnchor]:
    """Return every decision in order; raises NotFound while nothing was decided here."""
    seals = list(application.seals.select_related("history").order_by("history__position"))
    if not seals:
        raise NotFound("No decision about this application has been recorded for the ledger.")
    return seals


def anchor_due(*, now: datetime) -> dict[str, int]:
    """Anchor what waits, at most BATCH_MAX records; return how many were anchored and how many failed.

    Each request's decisions go into one block.
    """
    seals = _claim(now)
    if not seals:
        return {"anchored": 0, "failed": 0}
    session = outbound_session()
    if settings.LEDGER_CLIENT_KEY:
        session.headers["X-API-Key"] = settings.LEDGER_CLIENT_KEY
    if settings.LEDGER_CA_FILE:
        session.verify = settings.LEDGER_CA_FILE
    try:
        for request_id, decided in _by_request(seals).items():
            session.headers["X-Request-Id"] = request_id
            for seal, result in zip(decided, _anchor(session, decided), strict=True):
                _keep(session, seal, result, now)
    except ProviderError as error:
        _postpone([seal for seal in seals if seal.anchored_at is None], error, now)
    anchored = sum(seal.anchored_at is not None for seal in seals)
    return {"anchored": anchored, "failed": len(seals) - anchored}


def _claim(now: datetime) -> list[DecisionAnchor]:
    """Take due rows for this worker: nobody else sees them until the lease is over."""
    waiting = DecisionAnchor.objects.filter(due("due_at", now=now, within=_BACKOFF_MAX), anchored_at__isnull=True)
    waiting = waiting.order_by("due_at")
    with transaction.atomic():
        if connection.features.has_select_for_update_skip_locked:
            waiting = waiting.select_for_update(skip_locked=True)
        seals = list(waiting.select_related("application")[:BATCH_MAX])
        DecisionAnchor.objects.filter(pk__in=[seal.pk for seal in seals]).update(due_at=now + _LEASE)
    return seals


def _by_request(seals: Sequence[DecisionAnchor]) -> dict[str, list[DecisionAnchor]]:
    grouped = defaultdict(list)
    for seal in seals:
        grouped[json.loads(seal.record).get("request_id") or ""].append(seal)
    return grouped


def _anchor(session: requests.Session, seals: Sequence[DecisionAnchor]) -> list[dict[str, Any]]:
    """Hand the records to the ledger in one block; return its result for each."""
    items = [
        {"user_id": str(seal.application.consumer_id), "report_type": REPORT_TYPE, "report_data": seal.record}
        for seal in seals
    ]
    answer = _succeed(call(session, "POST", f"{settings.CHAIN_URL}/anchor/batch", json={"items": items})).json()
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(seals):
        raise ProviderError("unreadable", outcome_unknown=True)
    for seal, result in zip(seals, results, strict=True):
        # What was anchored must be what we decided, whoever answered.
        if not isinstance(result, dict) or result.get("hash") != seal.record_sha256:
            raise ProviderError("contradiction", outcome_unknown=True)
    return results


def _keep(session: requests.Session, seal: DecisionAnchor, result: dict[str, Any], now: datetime) -> None:
    address = f"{settings.CHAIN_URL}/proof/{seal.record_sha256}"
    which = {"index": str(result.get("index"))}
    seal.proof = _succeed(call(session, "GET", address, params=which)).json()
    seal.proof_file = _succeed(call(session, "GET", f"{address}.tlog-proof", params=which)).body.decode()
    seal.block_number = result.get("block_number")
    seal.anchored_at = now
    seal.last_error = ""
    seal.save(update_fields=["proof", "proof_file", "block_number", "anchored_at", "last_error"])


def _succeed(answer: ProviderAnswer) -> ProviderAnswer:
    if answer.status != requests.codes.ok:
        raise ProviderError(f"status {answer.status}", outcome_unknown=True)
    return answer


def _postpone(seals: Sequence[DecisionAnchor], error: ProviderError, now: datetime) -> None:
    for seal in seals:
        seal.attempts += 1
        seal.due_at = now + min(timedelta(seconds=2 ** min(seal.attempts, 16)), _BACKOFF_MAX)
        seal.last_error = error.word
    DecisionAnchor.objects.bulk_update(seals, ["attempts", "due_at", "last_error"])
