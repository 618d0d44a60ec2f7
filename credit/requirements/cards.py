"""The inputs of a scorecard from an application, compared with its offers' requirements."""

from credit.core.facts import path_of
from credit.models import ModelVersion, Offer

_OFFERS_NAMED = 5


def unasked_inputs(version: ModelVersion) -> list[str]:
    """Return, in words, which inputs no requirement of the model's active offers asks for, and where.

    An offer without a schema takes any data, and warns of nothing.
    """
    read = {name: path for name in sorted(version.card.facts) if (path := path_of(name))}
    lacking: dict[str, list[str]] = {name: [] for name in read}
    offers = Offer.objects.filter(
        blockscore_model_id=version.model_id,
        provider=version.model.provider_id,
        is_active=True,
        application_schema__isnull=False,
    ).order_by("pk")
    for pk, schema in offers.values_list("pk", "application_schema").iterator(chunk_size=50):
        for name, path in read.items():
            if len(path) > 1 or path[0] not in schema["properties"]:  # type: ignore[index]
                lacking[name].append(str(pk))
    return [_sentence(name, where) for name, where in lacking.items() if where]


def _sentence(name: str, offers: list[str]) -> str:
    more = f" and {len(offers) - _OFFERS_NAMED} more" if len(offers) > _OFFERS_NAMED else ""
    named = f"{', '.join(offers[:_OFFERS_NAMED])}{more}"
    return f"No requirement of offer {named} asks for {name}: it may be missing there."
