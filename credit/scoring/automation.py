"""Public information about an offer's score, for a person who hasn't applied yet."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from credit.core.facts import CATEGORIES, SOURCES, category_of, source_of
from credit.core.rights import ALONE, APPROVAL, ASSISTED, DUTIES, NONE
from credit.models import Offer
from credit.models.scoring import ModelVersion
from credit.scoring.scores import LiveVersion, live_versions

_REVIEWERS = {
    NONE: _("A person decides, without a score."),
    ASSISTED: _("A person decides. The score is a proposal to that person."),
    ALONE: _("The score can approve or reject an application. A person decides the others, and reviews on request."),
}
_PROPOSES = _("The score proposes the decision on your application.")
_DECIDES = _("The score decides on your application, or refers it to a person.")
_HIDES = _("An offer whose score would be a rejection isn't shown to you in the catalog.")
_PRICES = _("The score sets the interest rate of your loan: the price is personalized by automated processing.")


def describe_automation(offer: Offer) -> dict[str, Any]:
    """Describe an offer's score in the active language: its purposes, its data, and who reviews its decisions.

    The description is based on the published champion of the offer's model. Costs one query, two with a model.
    """
    version = _champion_of(offer)
    way = NONE if version is None else ALONE if settings.DECISIONING == "automatic" else ASSISTED
    duty = DUTIES[offer.conventions.jurisdiction, way, APPROVAL]
    facts = set() if version is None else set(version.card.facts)
    categories, sources = {category_of(name) for name in facts}, {source_of(name) for name in facts}
    return {
        "offer_id": str(offer.pk),
        "automated": way,
        "model_id": None if version is None else offer.blockscore_model_id,
        "version": None if version is None else _number_of(version),
        "purposes": [] if version is None else _purposes(version, way),
        "categories": [{"code": code, "text": gettext(CATEGORIES[code])} for code in CATEGORIES if code in categories],
        "sources": [{"code": code, "text": gettext(SOURCES[code])} for code in SOURCES if code in sources],
        "reviewed_by": gettext(_REVIEWERS[way]),
        "before": [{"text": gettext(right.text), "law": right.law} for right in duty.before],
    }


def _champion_of(offer: Offer) -> LiveVersion | None:
    if settings.DECISIONING == "off" or offer.blockscore_model_id is None:
        return None
    versions = live_versions(offer.blockscore_model_id, offer.provider_id)
    return versions[0] if versions else None


def _number_of(version: LiveVersion) -> int:
    return ModelVersion.objects.values_list("number", flat=True).get(pk=version.id)


def _purposes(version: LiveVersion, way: str) -> list[str]:
    purposes = [_DECIDES if way == ALONE else _PROPOSES, _HIDES, *([_PRICES] if version.card.prices else [])]
    return [gettext(purpose) for purpose in purposes]
