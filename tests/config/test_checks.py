"""Test the platform's start-up checks."""

from django.core.checks import run_checks
from django.urls import path

from config import checks
from config.api.views import ApiViewSet, endpoint
from ledger import urls


class _Wrong(ApiViewSet):
    """A view with every error that the checks report."""

    def undeclared(self, request):
        """Declare no access."""

    @endpoint(access="everything")
    def unknown(self, request):
        """Require a scope that does not exist."""

    @endpoint(access="any", limit="no-such-limit")
    def unlimited(self, request):
        """Declare a rate limit that does not exist."""

    @endpoint(access="offers:read", limit="read")
    def right(self, request):
        """Declare everything correctly."""


def problems_of(action, method="get"):
    """Return the ids of the problems of one method."""
    rows = list(checks.endpoint_problems([path("x", _Wrong.as_view({method: action}))]))
    assert all(problem.hint for problem in rows)
    return [problem.id for problem in rows]


def test_each_invalid_view_declaration_fails_with_its_check_id_and_method():
    assert problems_of("undeclared") == ["platform.E001"]
    assert problems_of("unknown") == ["platform.E002"]
    assert problems_of("unlimited") == ["platform.E003"]
    assert problems_of("right") == []
    (problem,) = checks.endpoint_problems([path("x/<str:y>", _Wrong.as_view({"get": "undeclared"}))])
    assert "GET /x/<str:y>" in problem.msg
    assert "_Wrong.undeclared" in problem.msg


def test_views_of_both_services_pass_the_declaration_checks(settings):
    assert run_checks(tags=["platform"]) == []
    assert list(checks.endpoint_problems(urls.urlpatterns)) == []
