"""Build application data for random scorecards, and offers that use them."""

from tests.credit.notices.world import ADDRESS
from tests.factories import OfferFactory


def nested(facts):
    """Return the application data for facts with the paths `application_data.…` as keys."""
    data = {}
    for path, value in facts.items():
        first, *between = path.split(".")
        if first == "application_data":
            place = data
            for name in between[:-1]:
                place = place.setdefault(name, {})
            place[between[-1]] = value
    return data


def offer_of(version):
    provider = version.model.provider
    provider.name, provider.address = "Cedar Bank", ADDRESS
    provider.save()
    rates = {"apr_min_percent": 9.9, "apr_max_percent": 9.9}
    return OfferFactory(provider=provider, blockscore_model_id=version.model_id, **rates)
