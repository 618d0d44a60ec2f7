"""Test the monitoring and comparison endpoints of scoring models."""

from datetime import timedelta

import pytest

from tests.api import assert_error
from tests.credit.scoring.cards import DEFINITION, GOOD, POOR
from tests.credit.scoring.past import NOW, model_of, scored, version_of
from tests.factories import ProviderFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(user):
    return version_of(model_of(ProviderFactory(owner=user)))


def moment(**ago):
    return (NOW - timedelta(**ago)).isoformat().replace("+00:00", "Z")


def path_of(version):
    return f"/scoring/models/{version.model_id}"


class TestMonitoring:
    def test_monitoring_covers_the_champion_over_the_last_30_days_by_default(self, api, version):
        scored(version, GOOD, days_ago=3)
        scored(version, POOR, days_ago=40)
        body = api.read(f"{path_of(version)}/monitoring").json()
        assert (body["model_id"], body["version"]) == (version.model_id, 1)
        assert (body["window"]["scores"], body["against"]["scores"]) == (1, 1)
        assert (body["window"]["too_few"], body["against"]["too_few"], body["psi"]) == (True, True, None)
        assert body["against"]["to"] == body["window"]["from"]
        assert body["outcomes"] == {"approve": 1.0, "refer": 0.0, "decline": 0.0}

    def test_monitoring_accepts_windows_and_a_version(self, api, version):
        challenger = version_of(version.model, number=2, role="challenger")
        scored(challenger, GOOD, days_ago=100, purpose="shadow")
        query = {"version": 2, "from": moment(days=101), "to": moment(days=99)}
        body = api.read(f"{path_of(version)}/monitoring?" + "&".join(f"{a}={b}" for a, b in query.items())).json()
        assert (body["version"], body["window"]["scores"]) == (2, 1)
        assert body["against"]["from"] == moment(days=103).replace("Z", ".000000Z")

    def test_invalid_monitoring_window_is_rejected(self, api, version):
        for query in (
            "to=2026-01-01", "from=0001-01-02T00:00:00Z",
            "to=1999-12-31T00:00:00Z", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
            "from=2001-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", "against_from=9999-12-31T23:59:59Z",
            "against_to=0001-01-01T00:00:00Z", "from=2026-01-01T00:00:00Z&from=2026-01-01T00:00:00Z",
        ):  # fmt: skip
            assert_error(api.read(f"{path_of(version)}/monitoring?{query}"), 400, "E1001")

    def test_monitoring_without_a_champion_returns_404(self, api, user):
        draft = version_of(model_of(ProviderFactory(owner=user)), role="")
        assert_error(api.read(f"{path_of(draft)}/monitoring"), 404, "E4011")
        assert api.read(f"{path_of(draft)}/monitoring?version=1").json()["psi"] is None


class TestCompare:
    @pytest.fixture
    def other(self, version):
        return version_of(version.model, number=2, definition={**DEFINITION, "base_points": 600}, role="challenger")

    def compare(self, api, version, **body):
        return api.send(f"{path_of(version)}/versions/{version.number}/compare", {"with": 2, **body})

    def test_version_comparison_endpoint_lists_applications_with_changed_outcomes(self, api, version, other):
        assert other.number == 2
        score = scored(version, POOR)
        body = self.compare(api, version).json()
        assert (body["pairs"], body["skipped"]) == (1, 0)
        assert body["table"] == [{"outcome": "decline", "with_outcome": "approve", "count": 1}]
        assert [flip["application_id"] for flip in body["flips"]] == [str(score.application_id)]

    def test_version_comparison_endpoint_accepts_a_window_and_a_limit(self, api, version, other):
        assert other.number == 2
        for days_ago in (50, 2, 1):
            scored(version, POOR, days_ago=days_ago)
        assert self.compare(api, version).json()["pairs"] == 2
        assert self.compare(api, version, limit=1).json()["pairs"] == 1
        assert self.compare(api, version, **{"from": moment(days=60)}).json()["pairs"] == 3
