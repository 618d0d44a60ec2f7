"""Test the endpoints that publish and retire a model version."""

import pytest

from credit.models import ModelVersion
from tests.api import ApiClient, assert_error, bearer_of, client_of
from tests.credit.scoring.cards import DEFINITION
from tests.credit.scoring.making import join, make_model, make_version
from tests.factories import OfferFactory, UserFactory
from tests.races import run_concurrently


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
    def test_published_model_version_becomes_the_champion(self, api, user, version):
        body = api.send(at(version, "publish"), {"role": "champion"}).json()
        assert (body["status"], body["role"], body["published_by"]) == ("published", "champion", str(user.pk))
        assert body["published_at"]
        assert "definition" not in body
        assert state(version) == ("published", "champion")

    def test_scorecard_publication_warns_of_inputs_that_an_offer_does_not_require(self, api, version):
        fields = {name: {"type": "integer"} for name in ("monthly_income_cents", "monthly_debt_cents")}
        asks = {"type": "object", "properties": fields, "required": ["monthly_income_cents"]}
        about = {"provider": version.model.provider, "blockscore_model_id": version.model_id}
        OfferFactory(**about)  # This offer accepts any data.
        OfferFactory(**about, application_schema=asks, is_active=False)
        claims = [
            f"Only the applicant supplies {name}: nothing verifies it."
            for name in ("income", "debt to income", "housing")
        ]
        claims.append(
            "No input is verified: none reads a bank, a report, or a value that a reviewer confirmed (CCD2 18(3))."
        )
        assert api.send(at(version, "publish"), {"role": "champion"}).json()["warnings"] == claims
        offers = [OfferFactory(**about, application_schema=asks).pk for _ in range(7)]
        # This offer belongs to another provider.
        OfferFactory(blockscore_model_id=version.model_id, application_schema=asks)
        warnings = api.send(at(version, "publish"), {"role": "challenger"}).json()["warnings"]
        assert warnings[-4:] == claims
        warnings = warnings[:-4]
        read = {name for name in version.card.facts if name.startswith("application_data.")}
        assert len(warnings) == len(read) - 1 > 0
        named = f"{', '.join(map(str, offers[:5]))} and 2 more"
        assert all(warning.startswith(f"Offer {named} does not require application_data.") for warning in warnings)
        assert not any("monthly_income_cents" in warning for warning in warnings)

    def test_retired_model_version_cannot_be_published(self, api, version):
        api.send(at(version, "retire"))
        error = assert_error(api.send(at(version, "publish"), {"role": "champion"}), 400, "E3014")
        assert error["details"] == {"from": "retired", "to": "published", "allowed": []}

    def test_member_or_staff_without_a_second_factor_cannot_publish_or_retire_a_model_version(
        self, api, version, settings
    ):
        settings.BACKOFFICE_SECOND_FACTOR = True
        for client in (api, client_of(join(version.model.provider, is_staff=True))):
            assert_error(client.send(at(version, "publish"), {"role": "champion"}), 403, "E2012")
            assert_error(client.send(at(version, "retire")), 403, "E2012")
        assert state(version) == ("draft", "")


@pytest.mark.django_db
def test_retiring_a_model_version_is_idempotent(api, user):
    for role in (None, "champion", "challenger"):
        version = make_version(make_model(user), role=role)
        for _ in range(2):
            body = api.send(at(version, "retire")).json()
            assert (body["status"], body["role"]) == ("retired", "")
        assert version.history.filter(status="retired").count() == 1


@pytest.mark.usefixtures("committed", "needs_postgresql")
class TestRaces:
    @pytest.fixture
    def client(self, settings):
        settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
        owner = UserFactory()
        self.model = make_model(owner)
        # An account publishes one version at a time, so each racing member needs an account.
        tokens = [bearer_of(owner), *[bearer_of(join(self.model.provider)) for _ in range(3)]]

        def make(member=0):
            return ApiClient(bearer=tokens[member])

        for member in range(len(tokens)):
            assert make(member).read("/auth/me").status_code == 200
        return make

    def test_concurrent_publications_of_model_versions_leave_a_single_champion(self, client):
        def publish(member, version):
            return client(member).send(at(version, "publish"), {"role": "champion"})

        for _ in range(10):
            versions = [make_version(self.model) for _ in range(4)]
            answers = run_concurrently(
                *[lambda m=member, v=version: publish(m, v) for member, version in enumerate(versions)]
            )
            assert [answer.status_code for answer in answers] == [200] * 4
            published = ModelVersion.objects.filter(model=self.model, status="published")
            assert published.filter(role="champion").count() == 1
            assert published.exclude(role="champion").exclude(role="challenger").count() == 0

    def test_concurrent_publish_and_retire_leave_a_consistent_model_version_status(self, client):
        for _ in range(20):
            version = make_version(self.model)
            published, retired = run_concurrently(
                *[
                    lambda v=version: client().send(at(v, "publish"), {"role": "champion"}),
                    lambda v=version: client().send(at(v, "retire")),
                ]
            )
            assert retired.status_code == 200
            assert published.status_code in {200, 400}
            if published.status_code == 400:
                assert_error(published, 400, "E3014")
            assert state(version) == ("retired", "")

    def test_concurrently_created_model_versions_have_different_numbers(self, client):
        path = f"/scoring/models/{self.model.pk}/versions"
        answers = run_concurrently(*[lambda: client().send(path, {"definition": DEFINITION}) for _ in range(8)])
        assert sorted(answer.json()["number"] for answer in answers) == list(range(1, 9))
