"""Scoring models and their versions: making, finding, publishing and retiring them."""

from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import Max

from config.core.json_text import canonical_json
from credit.scoring import definition as definitions
from credit.scoring.machine import DRAFT
from credit.scoring.models import ModelVersion, ScoringModel


def _lock(model_id: int) -> None:
    """Let nobody else number, publish or retire versions of this model until the transaction ends."""
    ScoringModel.objects.select_for_update().only("pk").get(pk=model_id)


def add_version(model: ScoringModel, *, definition: Any, note: str, made_by: Any, now: datetime) -> ModelVersion:
    """Keep a definition as the model's next version, a draft; raises ValidationFailed for what is no scorecard."""
    definitions.check(definition)
    with transaction.atomic(savepoint=False):
        _lock(model.pk)
        last = ModelVersion.objects.filter(model=model).aggregate(number=Max("number"))["number"] or 0
        version = ModelVersion(
            model=model,
            number=last + 1,
            definition=definition,
            definition_sha256=sha256(canonical_json(definition)).hexdigest(),
            status=DRAFT,
            note=note,
            made_by=made_by,
            created_at=now,
            updated_at=now,
        )
        version.save(force_insert=True)
    return version
