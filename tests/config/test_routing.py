"""The index of routes gives what Django's resolver gives, or leaves the path to it."""

import pytest
from django.http import HttpResponse
from django.urls import Resolver404, URLPattern, get_resolver, include, path, re_path
from django.urls.resolvers import RegexPattern, URLResolver

from config.api.routing import RouteIndex, index_of


def _view(_request, **_arguments):
    """Stand for any view."""
    return HttpResponse()


def _another(_request, **_arguments):
    """Stand for any other."""
    return HttpResponse()


def _resolver(*patterns):
    """Return a root resolver over these patterns."""
    return URLResolver(RegexPattern(r"^/"), list(patterns))


def _plain_routes(patterns, before=""):
    """Yield the whole route of every pattern outside the admin."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        elif not pattern.namespace:
            yield from _plain_routes(pattern.url_patterns, route)


def _addresses():
    """Return an address for every route of the platform, with something in the place of each argument."""
    return ["/" + route.replace("<str:", "<").replace("<", "some-").replace(">", "") for route in _routes()]


def _routes():
    return [route for route in _plain_routes(get_resolver().url_patterns) if "^" not in route]


def test_there_is_something_to_compare():
    assert len(_addresses()) > 30


@pytest.mark.parametrize("address", _addresses())
def test_every_route_of_the_platform_is_found_as_django_finds_it(address):
    found, expected = index_of(get_resolver()).find(address), get_resolver().resolve(address)
    assert found is not None
    assert (found.func, found.args, found.kwargs) == (expected.func, expected.args, expected.kwargs)
    assert (found.url_name, found.route) == (expected.url_name, expected.route)


@pytest.mark.parametrize(
    "address",
    ["/", "//", "", "v1/applications", "/v1", "/v1/", "/v1/applications/", "/v1/applications//status", "/V1/health"],
)
def test_a_path_that_is_not_there_is_left_to_django(address):
    assert index_of(get_resolver()).find(address) is None
    with pytest.raises(Resolver404):
        get_resolver().resolve(address)


@pytest.mark.parametrize("first_is_text", [True, False])
def test_of_two_routes_for_a_path_the_first_wins(first_is_text):
    patterns = [path("things/new", _view), path("things/<str:name>", _another)]
    resolver = _resolver(*(patterns if first_is_text else reversed(patterns)))
    found, expected = RouteIndex(resolver).find("/things/new"), resolver.resolve("/things/new")
    assert (found.func, found.kwargs) == (expected.func, expected.kwargs)
    assert found.func is (_view if first_is_text else _another)


def test_a_dead_end_among_texts_leads_back_to_the_argument():
    resolver = _resolver(path("things/new/one", _view), path("things/<str:name>/two", _another))
    assert RouteIndex(resolver).find("/things/new/two").kwargs == {"name": "new"}


def test_an_argument_is_never_empty():
    resolver = _resolver(path("things/<str:name>", _view))
    assert RouteIndex(resolver).find("/things/") is None


def test_prefixes_hand_their_arguments_on():
    resolver = _resolver(path("a/<str:one>/", include([path("b/<str:two>", _view)])))
    assert RouteIndex(resolver).find("/a/x/b/y").kwargs == {"one": "x", "two": "y"}


@pytest.mark.parametrize(
    "unplain",
    [
        re_path("^things/.*$", _view),
        path("things/<int:number>", _view),
        path("things/<path:rest>", _view),
        path("things/v<str:name>", _view),
        path("things/<str:name>", _view, {"extra": 1}),
        path("things/", include(([path("new", _view)], "things"))),
    ],
)
def test_what_stands_behind_a_route_that_is_not_plain_is_left_to_django(unplain):
    index = RouteIndex(_resolver(path("before", _view), unplain, path("things/new", _another)))
    assert index.find("/before").func is _view
    assert index.find("/things/new") is None
