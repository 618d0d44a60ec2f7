"""The evidence of a decision as one file to keep, which `scoring/verify_decision.py` checks offline."""

import json
from typing import Any

from config.core.json_text import canonical_json
from credit.anchoring import decisions_about
from credit.models import Application
from credit.scoring.scores import decision_scores, facts_of


def bundle_of(application: Application) -> dict[str, str | None]:
    """Return the texts that the newest decision's hashes were made of; raises NotFound while nothing was decided."""
    anchor = decisions_about(application)[-1]
    texts: dict[str, str | None] = {"record": anchor.record, "proof_file": anchor.kept_proof_file}
    told: dict[str, Any] = json.loads(anchor.record)
    is_scored = told.get("facts_sha256") is not None
    score = decision_scores(application.pk).select_related("kept_facts").first() if is_scored else None
    kept = None if score is None else facts_of(score)
    return {
        **texts,
        "definition": None if score is None else canonical_json(score.version.definition).decode(),
        "facts": None if kept is None else kept.facts,
        "nonce": None if kept is None else kept.nonce,
    }
