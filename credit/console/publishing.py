"""Publishing and retiring versions of scoring models: the buttons, and what their confirmations say."""

from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.desks import desk_of, may
from config.backoffice.records import RecordAction
from config.backoffice.transitions import CREDENTIAL
from config.core.lifecycle import Actor
from config.core.log_in import gave_second_factor
from credit.models.scoring import CHALLENGER, CHAMPION, PUBLISH, PUBLISHED, RETIRED, ModelVersion
from credit.requirements.services import inputs_without_requirement
from credit.scoring import versions


def publishing_actions(request: HttpRequest, record: ModelVersion) -> list[RecordAction]:
    desk = desk_of(request.user)
    if not may(request.user, PUBLISH) or (desk is not None and not desk.decides_for(record.model.provider_id)):
        return []
    actor = Actor(user=request.user, credential=CREDENTIAL, second_factor=gave_second_factor(request))
    actions = []
    for role in (CHAMPION, CHALLENGER):
        run, refusal = partial(_publish, role=role, actor=actor), partial(_not_published, role=role, actor=actor)
        told = partial(_publishing, role=role)
        actions.append(RecordAction(f"publish-{role}", f"Publish as {role}", PUBLISH, run, told, refusal, _seen))

    def not_retired(version: ModelVersion) -> str:
        return str(version.check_transition(RETIRED, actor) or "")

    retire = partial(_retire, actor=actor)
    return [*actions, RecordAction("retire", "Retire", PUBLISH, retire, _retiring, not_retired, _seen)]


def _champion_of(version: ModelVersion) -> ModelVersion | None:
    return ModelVersion.objects.filter(model=version.model_id, role=CHAMPION, status=PUBLISHED).first()


def _seen(version: ModelVersion) -> str:
    """Bind a confirmation to the version's state and to which version is the champion."""
    champion = _champion_of(version)
    return f"{version.status}:{version.moves}:{champion and champion.number}"


def _not_published(version: ModelVersion, *, role: str, actor: Actor) -> str:
    if (version.status, version.role) == (PUBLISHED, role):
        return f"It is published as {role}."
    return str(version.check_transition(PUBLISHED, actor) or "")


def _publish(_request: HttpRequest, version: ModelVersion, _form: Any, *, role: str, actor: Actor) -> str:
    versions.publish(version, role=role, actor=actor, now=timezone.now())
    return f"Version {version.number} is now published as {role}."


def _retire(_request: HttpRequest, version: ModelVersion, _form: Any, *, actor: Actor) -> str:
    versions.retire(version, actor=actor, now=timezone.now())
    return f"Version {version.number} is retired."


def _publishing(version: ModelVersion, *, role: str) -> list[str]:
    champion, lines = _champion_of(version), []
    if role == CHAMPION:
        lines.append(
            f"Applications that are sent to offers of provider {version.model.provider_id} with model "
            f"{version.model_id} are scored by this version from now on; what was scored stays as it is."
        )
        if champion is not None and champion.pk != version.pk:
            lines.append(f"Version {champion.number} is the champion now. It becomes a challenger.")
    else:
        lines.append("It scores next to the champion, for comparison, and decides nothing.")
        if champion is not None and champion.pk == version.pk:
            lines.append("The model is left without a champion: nothing is scored until there is one.")
    lines += inputs_without_requirement(version)
    anchored = ", and anchored in the ledger" if settings.ANCHOR_DECISIONS else ""
    return [*lines, f"The publication is entered in the history with your name{anchored}."]


def _retiring(version: ModelVersion) -> list[str]:
    lines = ["It scores no applications any more, and can't be published again. Its scores stay."]
    if version.role == CHAMPION:
        lines.append("The model is left without a champion: nothing is scored until there is one.")
    return [*lines, "The retirement is entered in the history with your name."]
