"""POST …/versions/{number}/publish and …/retire."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from credit.models import DecisionAnchor, ModelVersion
from tests.api import ApiClient, assert_error, bearer_of, client_of
from tests.credit.scoring.cards import DEFINITION
from tests.credit.scoring.making import join, make_model, make_version
from tests.factories import UserFactory
from tests.identity.support import issue


def at(version, verb):
    return f"/scoring/models/{version.model_id}/versions/{version.number}/{verb}"


def state(version):
    version.refresh_from_db(fields=["status", "role"])
    return version.status, version.role


@pytest.fixture
def version(user):
    return make_version(make_model(user))


@pytest.mark.django_db
class TestPublish:
    def test_it_becomes_the_champion(self, api, user, version):
        body = api.send(at(version, "publish"), {"role": "champion"}).json()
        assert (body["status"], body["role"], body["published_by"]) == ("published", "champion", str(user.pk))
        assert body["published_at"]
        assert "definition" not in body
        assert state(version) == ("published", "champion")

    def test_another_champion_takes_over(self, api, version):
        api.send(at(version, "publish"), {"role": "champion"})
        second = make_version(version.model)
        assert api.send(at(second, "publish"), {"role": "champion"}).status_code == 200
        assert (state(version), state(second)) == (("published", "challenger"), ("published", "champion"))

    @pytest.mark.parametrize("body", [{}, {"role": None}, {"role": "none"}, {"role": ""}, {"role": ["champion"]}])
    def test_a_role_is_champion_or_challenger(self, api, version, body):
        assert_error(api.send(at(version, "publish"), body), 400, "E1001")
        assert state(version) == ("draft", "")

    def test_a_retired_version_is_not_published(self, api, version):
        api.send(at(version, "retire"))
        error = assert_error(api.send(at(version, "publish"), {"role": "champion"}), 400, "E3014")
        assert error["details"] == {"from": "retired", "to": "published", "allowed": []}

    def test_whoever_made_it_does_not_publish_it_under_four_eyes(self, api, version, settings):
        settings.REVIEW_POLICY = "four_eyes"
        assert_error(api.send(at(version, "publish"), {"role": "champion"}), 403, "E2010")
        colleague = client_of(join(version.model.provider))
        assert colleague.send(at(version, "publish"), {"role": "champion"}).status_code == 200

    def test_staff_publish_and_retire_with_a_second_factor_only(self, version, settings):
        settings.BACKOFFICE_SECOND_FACTOR = True
        colleague = client_of(join(version.model.provider, is_staff=True))
        assert_error(colleague.send(at(version, "publish"), {"role": "champion"}), 403, "E2012")
        assert_error(colleague.send(at(version, "retire")), 403, "E2012")
        assert state(version) == ("draft", "")

    def test_a_provider_who_is_not_staff_publishes_without_one(self, api, version, settings):
        settings.BACKOFFICE_SECOND_FACTOR = True
        assert api.send(at(version, "publish"), {"role": "champion"}).status_code == 200

    def test_a_repeated_request_publishes_once(self, api, version, key):
        first, second = (api.send(at(version, "publish"), {"role": "champion"}, key=key) for _ in range(2))
        assert first.content == second.content
        assert second.headers["Idempotent-Replayed"] == "true"
        assert version.history.count() == DecisionAnchor.objects.count() == 1

    def test_anothers_version_does_not_exist(self, stranger_api, version):
        assert_error(stranger_api.send(at(version, "publish"), {"role": "champion"}), 404, "E4011")
        assert state(version) == ("draft", "")

    def test_a_version_that_is_not_there(self, api, version):
        version.number = 2
        assert_error(api.send(at(version, "publish"), {"role": "champion"}), 404, "E4011")

    def test_nobody_and_the_wrong_scope(self, anonymous, user, version):
        assert_error(anonymous.send(at(version, "publish"), {"role": "champion"}), 401, "E2001")
        client = ApiClient(api_key=issue(user, scopes=["score:read"]).key)
        assert_error(client.send(at(version, "publish"), {"role": "champion"}), 403, "E2005")


@pytest.mark.django_db
class TestRetire:
    @pytest.mark.parametrize("role", [None, "champion", "challenger"])
    def test_a_version_is_retired_and_again_is_no_error(self, api, user, role):
        version = make_version(make_model(user), role=role)
        for _ in range(2):
            body = api.send(at(version, "retire")).json()
            assert (body["status"], body["role"]) == ("retired", "")
        assert version.history.filter(status="retired").count() == 1

    def test_a_repeated_request_gets_the_same_answer(self, api, version, key):
        first, second = (api.send(at(version, "retire"), key=key) for _ in range(2))
        assert first.content == second.content
        assert second.headers["Idempotent-Replayed"] == "true"

    def test_anothers_version_does_not_exist(self, stranger_api, version):
        assert_error(stranger_api.send(at(version, "retire")), 404, "E4011")
        assert state(version) == ("draft", "")

    def test_nobody_and_the_wrong_scope(self, anonymous, user, version):
        assert_error(anonymous.send(at(version, "retire")), 401, "E2001")
        client = ApiClient(api_key=issue(user, scopes=["score:read"]).key)
        assert_error(client.send(at(version, "retire")), 403, "E2005")


def at_once(calls):
    """Run functions together, each in a thread; their results in order."""
    gate = threading.Barrier(len(calls))

    def run(call):
        try:
            gate.wait()
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@pytest.mark.usefixtures("committed", "needs_postgresql")
class TestRaces:
    @pytest.fixture
    def client(self, settings):
        settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
        owner = UserFactory()
        token = bearer_of(owner)
        self.model = make_model(owner)

        def make():
            return ApiClient(bearer=token)

        assert make().read("/auth/me").status_code == 200
        return make

    def test_of_champions_published_at_once_one_is_the_champion(self, client):
        for _ in range(10):
            versions = [make_version(self.model) for _ in range(4)]
            answers = at_once(
                [lambda v=version: client().send(at(v, "publish"), {"role": "champion"}) for version in versions]
            )
            assert [answer.status_code for answer in answers] == [200] * 4
            published = ModelVersion.objects.filter(model=self.model, status="published")
            assert published.filter(role="champion").count() == 1
            assert published.exclude(role="champion").exclude(role="challenger").count() == 0

    def test_a_version_published_and_retired_at_once_ends_as_one_of_both(self, client):
        for _ in range(20):
            version = make_version(self.model)
            published, retired = at_once(
                [
                    lambda v=version: client().send(at(v, "publish"), {"role": "champion"}),
                    lambda v=version: client().send(at(v, "retire")),
                ]
            )
            assert retired.status_code == 200
            assert published.status_code in {200, 400}
            if published.status_code == 400:
                assert_error(published, 400, "E3014")
            assert state(version) == ("retired", "")

    def test_versions_made_at_once_have_numbers_of_their_own(self, client):
        path = f"/scoring/models/{self.model.pk}/versions"
        answers = at_once([lambda: client().send(path, {"definition": DEFINITION}) for _ in range(8)])
        assert sorted(answer.json()["number"] for answer in answers) == list(range(1, 9))
