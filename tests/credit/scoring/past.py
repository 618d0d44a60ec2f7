"""Models and scores of the past, for tests of statistics."""

from datetime import timedelta
from hashlib import sha256

from django.utils import timezone

from config.core.json_text import canonical_json
from credit.models.scoring import ModelVersion, Score, ScoringModel
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import store_score
from tests.credit.scoring.cards import DEFINITION
from tests.factories import ApplicationFactory, ProviderFactory, UserFactory

NOW = timezone.now().replace(microsecond=0)


def model_of(provider=None):
    """Return a provider's model without versions."""
    provider = provider or ProviderFactory()
    return ScoringModel.objects.create(
        provider=provider, name="Everyday card", created_by=provider.owner, created_at=NOW - timedelta(days=400)
    )


def version_of(model, *, number=1, definition=DEFINITION, role="champion"):
    """Return a published version, or a draft if the role is empty."""
    when = NOW - timedelta(days=390)
    return ModelVersion.objects.create(
        model=model, number=number, definition=definition,
        definition_sha256=sha256(canonical_json(definition)).hexdigest(), status="published" if role else "draft",
        role=role, made_by=model.provider.owner, published_by=model.provider.owner if role else None,
        published_at=when if role else None, created_at=when, updated_at=when,
    )  # fmt: skip


def scored(version, facts, *, days_ago=1, purpose=Score.DECISION, **members):
    """Return the score of a new application with these facts, so many days ago."""
    application = ApplicationFactory(consumer=UserFactory(), status="under_review", **members)
    facts = {name: facts.get(name) for name in version.card.facts} | {"scored_on": "2026-01-31"}
    return store_score(
        version, facts, evaluate(version.card, facts), purpose=purpose, user_id=application.consumer_id,
        application_id=application.pk, now=NOW - timedelta(days=days_ago),
    )  # fmt: skip
