"""Page middleware runs for pages, and API requests pass it by."""

import pytest
from django.urls import get_resolver

from config.api.openapi import routes
from config.ops.page_middleware import PAGES_OF_THE_API

MIDDLEWARE_OF_AN_API_REQUEST = 6


def test_an_api_request_passes_at_most_six_middlewares(settings):
    assert len(settings.MIDDLEWARE) <= MIDDLEWARE_OF_AN_API_REQUEST


def test_each_html_page_below_v1_runs_page_middleware():
    html = [
        "/" + route
        for route, pattern in (entry[:2] for entry in routes(get_resolver().url_patterns))
        if route.startswith("v1/") and not hasattr(pattern.callback, "actions")
    ]
    assert html
    assert [route for route in html if not route.startswith(PAGES_OF_THE_API) and "openapi" not in route] == []


@pytest.mark.django_db
def test_an_api_response_sets_no_cookie_and_states_its_length(client, settings):
    response = client.get("/v1/health")
    assert not response.cookies
    assert response.headers["Content-Length"] == str(len(response.content))
