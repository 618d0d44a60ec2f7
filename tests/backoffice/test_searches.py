"""The searches of the console's lists find what people type."""

import pytest
from django.utils import timezone

from identity.access import keys
from tests.credit.commerce.test_search import SEARCHED
from tests.factories import ModelVersionFactory, OfferFactory, ProviderFactory, ScoringModelFactory, UserFactory

pytestmark = pytest.mark.django_db


def names_found(client, model, query):
    response = client.get(f"/admin/{model}/", {"q": query})
    assert response.status_code == 200
    return [str(row) for row in response.context["cl"].result_list]


@pytest.mark.parametrize(("name", "query"), SEARCHED)
def test_a_list_finds_a_record_by_words_of_its_name(superusers_client, name, query):
    provider = ProviderFactory(name=name)
    ProviderFactory(name="Ferry pass")
    assert names_found(superusers_client, "credit/provider", query) == [str(provider)]


def make_key(name):
    return keys.create_api_key(owner=UserFactory(), name=name, scopes=None, now=timezone.now()).record


def make_version(name):
    return ModelVersionFactory(model=ScoringModelFactory(name=name))


def make_offer(name):
    return OfferFactory(name=name)


@pytest.mark.parametrize(("model", "make"), [
    ("credit/offer", make_offer), ("credit/modelversion", make_version), ("identity/apikey", make_key),
])  # fmt: skip
def test_each_list_of_named_records_ignores_accents_and_hyphens(superusers_client, model, make):
    record = make("Rénovation Home-loan")
    make("Ferry pass")
    for query in ("renovation", "homeloan RENOVATION", "loan home", "novat"):
        assert names_found(superusers_client, model, query) == [str(record)], query
    for query in ("renovation boat", "?!", "-"):
        assert names_found(superusers_client, model, query) == [], query
