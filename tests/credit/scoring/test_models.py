"""Test the endpoints that create, list, and return scoring models."""

import pytest

from credit.models import ScoringModel
from tests.api import assert_error, client_of
from tests.credit.scoring.making import join, make_model
from tests.factories import ProviderFactory

pytestmark = pytest.mark.django_db
PATH = "/scoring/models"


@pytest.fixture
def body():
    """Return a valid body."""
    return {"provider_id": "901", "name": "Everyday", "description": "Small loans."}


class TestCreate:
    def test_creating_a_scoring_model_with_an_unused_lender_id_makes_the_author_owner_of_the_lender(
        self, api, user, body
    ):
        response = api.send(PATH, body)
        assert response.status_code == 201, response.content
        scoring_model = ScoringModel.objects.get()
        assert response.json() == {"id": scoring_model.pk, **body, "created_at": response.json()["created_at"]}
        assert scoring_model.provider.owner == scoring_model.created_by == user
        assert list(scoring_model.provider.members.all()) == [user]

    def test_scoring_model_with_a_lender_id_of_another_owner_is_rejected(self, api, body):
        ProviderFactory(id="901")
        assert_error(api.send(PATH, body), 403, "E2011")
        assert not ScoringModel.objects.exists()

    @pytest.mark.parametrize("provider_id", ["a\nb", "a\u2028b", "a\u200bb"])
    def test_scoring_model_with_an_unprintable_lender_id_is_rejected(self, api, body, provider_id):
        error = assert_error(api.send(PATH, {**body, "provider_id": provider_id}), 400, "E1001")
        assert error["details"][0]["field"] == "provider_id"


class TestList:
    def test_model_list_shows_models_of_the_members_lenders_newest_first(self, api, user):
        provider = ProviderFactory(owner=user)
        models = [make_model(provider=provider) for _ in range(3)]
        make_model()
        body = api.read(PATH).json()
        assert [model["id"] for model in body["models"]] == [model.pk for model in reversed(models)]
        assert (body["total"], body["has_more"]) == (3, False)
        assert client_of(join(provider)).read(PATH).json() == body


def test_member_of_the_lender_can_read_a_scoring_model(api, user):
    model = make_model(user)
    body = api.read(f"{PATH}/{model.pk}").json()
    assert (body["id"], body["provider_id"], body["name"]) == (model.pk, model.provider_id, "Everyday")
    assert client_of(join(model.provider)).read(f"{PATH}/{model.pk}").json() == body
