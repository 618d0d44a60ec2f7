"""POST and GET /v1/scoring/models, GET /v1/scoring/models/{model_id}."""

import pytest

from credit.models import Provider, ScoringModel
from tests.api import ApiClient, assert_error, client_of
from tests.credit.scoring.making import join, make_model
from tests.factories import ProviderFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
PATH = "/scoring/models"


@pytest.fixture
def body():
    """A body that makes a model."""
    return {"provider_id": "901", "name": "Everyday", "description": "Small loans."}


class TestCreate:
    def test_it_makes_a_model_and_claims_the_provider_id(self, api, user, body):
        response = api.send(PATH, body)
        assert response.status_code == 201, response.content
        made = ScoringModel.objects.get()
        assert response.json() == {
            "id": made.pk, **body, "created_at": response.json()["created_at"],
        }  # fmt: skip
        assert Provider.objects.get(pk="901").owner == user
        assert made.created_by == user

    def test_a_member_makes_models_too(self, user, body):
        member = join(ProviderFactory(id="901", owner=user))
        assert client_of(member).send(PATH, body).status_code == 201

    def test_anothers_provider_id_is_refused(self, api, body):
        ProviderFactory(id="901")
        assert_error(api.send(PATH, body), 403, "E2011")
        assert not ScoringModel.objects.exists()

    def test_a_description_may_be_left_out(self, api, body):
        del body["description"]
        assert api.send(PATH, body).json()["description"] == ""

    @pytest.mark.parametrize(
        "change",
        [
            {"provider_id": 901}, {"provider_id": ""}, {"provider_id": "x" * 256}, {"name": None}, {"name": ""},
            {"name": ["a"]}, {"description": None}, {"description": "x" * 10_001},
        ],
    )  # fmt: skip
    def test_a_member_of_another_shape_is_refused(self, api, body, change):
        (name,) = change
        error = assert_error(api.send(PATH, {**body, **change}), 400, "E1001")
        assert error["details"][0]["field"] == name

    @pytest.mark.parametrize("name", ["provider_id", "name"])
    def test_what_is_needed_is_named(self, api, body, name):
        del body[name]
        assert assert_error(api.send(PATH, body), 400, "E1001")["details"][0]["field"] == name

    def test_a_repeated_request_makes_one_model(self, api, body, key):
        first, second = (api.send(PATH, body, key=key) for _ in range(2))
        assert first.content == second.content
        assert second.headers["Idempotent-Replayed"] == "true"
        assert ScoringModel.objects.count() == 1

    def test_nobody_and_the_wrong_scope(self, anonymous, user, body):
        assert_error(anonymous.send(PATH, body), 401, "E2001")
        key = issue(user, scopes=["score:read", "offers:write"]).key
        assert_error(ApiClient(api_key=key).send(PATH, body), 403, "E2005")
        key = issue(user, scopes=["score:write"]).key
        assert ApiClient(api_key=key).send(PATH, body).status_code == 201


class TestList:
    def test_members_see_the_models_of_their_providers_newest_first(self, api, user):
        provider = ProviderFactory(owner=user)
        models = [make_model(provider=provider) for _ in range(3)]
        make_model()
        body = api.read(PATH).json()
        assert [model["id"] for model in body["models"]] == [model.pk for model in reversed(models)]
        assert (body["total"], body["has_more"]) == (3, False)
        assert client_of(join(provider)).read(PATH).json() == body

    def test_it_is_paged(self, api, user):
        provider = ProviderFactory(owner=user)
        pks = [make_model(provider=provider).pk for _ in range(3)][::-1]
        body = api.read(f"{PATH}?limit=1&offset=1").json()
        assert ([one["id"] for one in body["models"]], body["total"], body["has_more"]) == ([pks[1]], 3, True)

    @pytest.mark.parametrize("query", ["limit=0", "limit=101", "offset=-1", "limit=x"])
    def test_a_page_out_of_range_is_refused(self, api, query):
        assert_error(api.read(f"{PATH}?{query}"), 400, "E1006")

    def test_it_costs_two_statements_however_many(self, api, user, no_rate_limits, django_assert_num_queries):
        provider = ProviderFactory(owner=user)
        for _ in range(3):
            make_model(provider=provider)
        api.read(PATH)
        with django_assert_num_queries(2):
            assert len(api.read(PATH).json()["models"]) == 3

    def test_nobody_and_the_wrong_scope(self, anonymous, user):
        assert_error(anonymous.read(PATH), 401, "E2001")
        assert_error(ApiClient(api_key=issue(user, scopes=["score:write"]).key).read(PATH), 403, "E2005")


class TestRetrieve:
    def test_a_member_reads_it(self, api, user):
        model = make_model(user)
        body = api.read(f"{PATH}/{model.pk}").json()
        assert (body["id"], body["provider_id"], body["name"]) == (model.pk, model.provider_id, "Everyday")
        assert client_of(join(model.provider)).read(f"{PATH}/{model.pk}").json() == body

    def test_anothers_does_not_exist(self, stranger_api, user):
        assert_error(stranger_api.read(f"{PATH}/{make_model(user).pk}"), 404, "E4011")

    @pytest.mark.parametrize("text", ["0", "-1", "x", "01", "1.0", "9" * 19, "9" * 40, "%00", "१"])
    def test_what_names_no_model_is_not_found(self, api, text):
        assert_error(api.read(f"{PATH}/{text}"), 404, "E4011")
