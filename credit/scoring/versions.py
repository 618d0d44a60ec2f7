from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from config.core.ids import first_or, parse_positive_int64
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor, ReviewerRequired
from credit.core.card import Card
from credit.core.errors import ScoringModelNotFound, refusal_of
from credit.models.offers import ProviderMember
from credit.models.scoring import CHALLENGER, CHAMPION, DRAFT, PUBLISHED, RETIRED, ModelVersion, ScoringModel
from credit.offers.providers import claim_provider, role_of
from credit.scoring import definition as definitions
from credit.scoring.certificate import categories_of, certificate_of, require_reasons
from identity.access.second_factor import require_lender_factor


def create_model(*, provider_id: str, name: str, description: str, by: Actor, now: datetime) -> ScoringModel:
    """Create a model without versions. An unused lender ID is assigned to the account, as for an offer.

    Raises SecondFactorRequired or ProviderTaken.
    """
    with transaction.atomic(savepoint=False):
        provider = claim_provider(provider_id, by, now, roles=ProviderMember.DECIDING)
        return ScoringModel.objects.create(
            provider=provider, name=name, description=description, created_by=by.user, created_at=now
        )


def list_models(user: Any) -> QuerySet[ScoringModel]:
    """Select the models of the lenders of which `user` is a member, newest first."""
    return ScoringModel.objects.filter(provider__members=user).order_by("-id")


def load_model(model_id: str, user: Any) -> ScoringModel:
    """Return the model with the ID from a URL. Raises ScoringModelNotFound if `user` is not a member of its lender."""
    return first_or(
        list_models(user).filter(pk=parse_positive_int64(model_id) or 0).select_related("provider"),
        ScoringModelNotFound,
    )


def check_writer(model: ScoringModel, actor: Actor) -> None:
    """Raise SecondFactorRequired if the second factor is missing, or ReviewerRequired for readers of the lender."""
    require_lender_factor(actor)
    if role_of(model.provider, actor.user) not in ProviderMember.DECIDING:
        raise ReviewerRequired("Readers of a lender can't change its scoring models.")


def load_version(model_id: str, number: str | int | None, user: Any) -> ModelVersion:
    """Return a version by number, or the champion if no number is given. Raises ScoringModelNotFound."""
    which: dict[str, Any] = {"status": PUBLISHED, "role": CHAMPION}
    if number is not None:
        which = {"number": parse_positive_int64(str(number)) or 0}
    what = "champion" if number is None else "such version"
    missing = ScoringModelNotFound(f"The scoring model has no {what}.")
    return first_or(load_model(model_id, user).versions.filter(**which), missing)


def _lock(model_id: int) -> None:
    """Lock a model until the end of the transaction, to prevent races between new versions and role changes."""
    ScoringModel.objects.select_for_update().only("pk").get(pk=model_id)


def add_version(
    model: ScoringModel, *, definition: Any, note: str, made_by: Any, now: datetime, about: Any = None
) -> ModelVersion:
    """Store a definition as a draft, the model's next version. Raises ValidationFailed for an invalid scorecard.

    `about` is the instructions for use. If the instructions declare categories of data, the scorecard must not read
    other categories.
    """
    definitions.check(definition)
    if about and about["categories"]:
        refusals = [
            (
                f"/definition/inputs/{number}",
                f"The scorecard reads `{category}`. Add it to `about.categories`, or remove the input.",
            )
            for number, source in enumerate(Card.of(definition).inputs)
            for category in categories_of(source.facts)
            if category not in about["categories"]
        ]
        if refusals:
            raise refusal_of(refusals)
    with transaction.atomic(savepoint=False):
        _lock(model.pk)
        last = ModelVersion.objects.filter(model=model).aggregate(number=Max("number"))["number"] or 0
        return ModelVersion.objects.create(
            model=model,
            number=last + 1,
            definition=definition,
            definition_sha256=sha256(canonical_json(definition)).hexdigest(),
            status=DRAFT,
            note=note,
            about=about,
            made_by=made_by,
            created_at=now,
            updated_at=now,
        )


def publish(version: ModelVersion, *, role: str, actor: Actor, now: datetime) -> ModelVersion:
    """Publish a version, or change the role of a published version. If the role is the same, nothing changes.

    A model has at most one champion. Publishing a new champion makes the previous champion a challenger. The first
    publication stores the certificate. Raises InvalidVersionTransition for a retired version, ReviewerRequired for the
    author under `four_eyes`, and ValidationFailed for a scorecard that can decline without a reason.
    """
    with transaction.atomic(savepoint=False):
        _lock(version.model_id)
        version.refresh_from_db(fields=["status", "role", "moves", "updated_at", "published_by", "published_at"])
        if (version.status, version.role) == (PUBLISHED, role):
            return version
        if refusal := version.check_transition(PUBLISHED, actor):
            raise refusal
        if role == CHAMPION:
            before = ModelVersion.objects.filter(model=version.model_id, status=PUBLISHED, role=CHAMPION)
            for champion in before.select_related("model__provider").defer("definition"):
                _give_role(champion, CHALLENGER, actor=actor, now=now)
        changes = {}
        if version.status == DRAFT:
            changes["certificate"] = certificate = certificate_of(version.card)
            require_reasons(certificate)
        _give_role(version, role, actor=actor, now=now, **changes)
    return version


def _give_role(version: ModelVersion, role: str, *, actor: Actor, now: datetime, **changes: Any) -> None:
    changes["role"] = role
    version.transition_to(PUBLISHED, actor=actor, now=now, metadata={"role": role}, changes=changes)


def retire(version: ModelVersion, *, actor: Actor, now: datetime) -> ModelVersion:
    """Retire a version permanently. If the version is already retired, nothing changes.

    If the champion is retired, the model has no champion until a new champion is published.
    """
    with transaction.atomic(savepoint=False):
        _lock(version.model_id)
        version.refresh_from_db(fields=["status", "role", "moves", "updated_at"])
        if version.status != RETIRED:
            version.transition_to(RETIRED, actor=actor, now=now)
    return version
