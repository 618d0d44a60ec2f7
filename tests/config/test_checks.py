"""Start-up: the checks of our own."""

from django.core.checks import run_checks
from django.urls import path

from config import checks
from config.api.views import ApiViewSet, endpoint
from ledger import urls


class _Wrong(ApiViewSet):
    """A view with every mistake."""

    def undeclared(self, request):
        """Answer anybody."""

    @endpoint(access="everything")
    def unknown(self, request):
        """Ask for a scope that does not exist."""

    @endpoint(access="any", limit="no-such-limit")
    def unlimited(self, request):
        """Name a limit that does not exist."""

    @endpoint(access="offers:read", limit="read")
    def right(self, request):
        """Make no mistake."""


def problems_of(action, method="get"):
    """Return the ids of what is wrong with one method."""
    found = list(checks.endpoint_problems([path("x", _Wrong.as_view({method: action}))]))
    assert all(problem.hint for problem in found)
    return [problem.id for problem in found]


def test_each_mistake_has_its_id():
    assert problems_of("undeclared") == ["platform.E001"]
    assert problems_of("unknown") == ["platform.E002"]
    assert problems_of("unlimited") == ["platform.E003"]
    assert problems_of("right") == []


def test_the_problem_names_the_place():
    (problem,) = checks.endpoint_problems([path("x/<str:y>", _Wrong.as_view({"get": "undeclared"}))])
    assert "GET /x/<str:y>" in problem.msg
    assert "_Wrong.undeclared" in problem.msg


def test_the_project_itself_is_well(settings):
    assert run_checks(tags=["platform"]) == []


def test_service_b_is_well():
    assert list(checks.endpoint_problems(urls.urlpatterns)) == []
