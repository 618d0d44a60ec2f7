"""Finding the view of a path by its segments.

Django tries one route after the other with a regular expression each, so an address costs the more the later it
stands, and every new room makes all that follow it dearer. Here the routes are read once into a tree of segments.
Django's own resolver stays the authority: it answers for everything that the tree does not know, which is every path
that does not exist, and every route from the first on that is more than texts and `<str:…>` between slashes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from django.urls import ResolverMatch, URLPattern, URLResolver
from django.urls.resolvers import RoutePattern

_TEXT = re.compile(r"[^<>]*")
_ARGUMENT = re.compile(r"<(?:str:)?(\w+)>")


class _Unplain(Exception):
    """A route that is more than texts and arguments between slashes."""


@dataclass(slots=True)
class _Leaf:
    """A route's end: its place in the URLconf, its view, the names of its arguments in order."""

    place: int
    pattern: URLPattern
    route: str
    names: list[str]


@dataclass(slots=True)
class _Node:
    """What can follow after some segments: a text, any argument, or the end."""

    texts: dict[str, "_Node"] = field(default_factory=dict)
    argument: "_Node | None" = None
    leaf: _Leaf | None = None


class RouteIndex:
    """The plain routes of a URLconf, up to the first that is not plain."""

    def __init__(self, resolver: URLResolver) -> None:
        """Read the routes."""
        self._root = _Node()
        try:
            for place, (route, pattern) in enumerate(_routes_of(resolver.url_patterns, "")):
                self._enter(place, route, pattern)
        except _Unplain:
            return

    def _enter(self, place: int, route: str, pattern: URLPattern) -> None:
        """Add one route; of two for the same path the first counts."""
        node, names = self._root, []
        for segment in route.split("/"):
            argument = _ARGUMENT.fullmatch(segment)
            if argument is not None:
                names.append(argument[1])
                node.argument = node.argument or _Node()
                node = node.argument
            elif _TEXT.fullmatch(segment):
                node = node.texts.setdefault(segment, _Node())
            else:
                raise _Unplain
        node.leaf = node.leaf or _Leaf(place, pattern, route, names)

    def find(self, path: str) -> ResolverMatch | None:
        """Return what Django's resolver would for a path, or None: ask it."""
        if not path.startswith("/"):
            return None
        segments = path[1:].split("/")
        found = _first(self._root, segments, 0, [])
        if found is None:
            return None
        leaf, values = found
        arguments = dict(zip(leaf.names, values, strict=True))
        return ResolverMatch(
            leaf.pattern.callback,
            (),
            arguments,
            leaf.pattern.name,
            route=leaf.route,
            captured_kwargs=arguments,
        )


def _routes_of(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[tuple[str, URLPattern]]:
    """Yield (whole route, pattern) in the order in which Django tries them; raises _Unplain at the first it cannot."""
    for pattern in patterns:
        if not isinstance(pattern.pattern, RoutePattern):
            raise _Unplain
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            if pattern.default_args:
                raise _Unplain
            yield route, pattern
        elif pattern.namespace or pattern.app_name or pattern.default_kwargs:
            raise _Unplain
        else:
            yield from _routes_of(pattern.url_patterns, route)


def _first(node: _Node, segments: list[str], at: int, values: list[str]) -> tuple[_Leaf, list[str]] | None:
    """Return the leaf that matches and stands first, with its arguments."""
    if at == len(segments):
        return (node.leaf, values) if node.leaf is not None else None
    segment = segments[at]
    following = node.texts.get(segment)
    by_text = _first(following, segments, at + 1, values) if following is not None else None
    if node.argument is None or not segment:
        return by_text
    by_argument = _first(node.argument, segments, at + 1, [*values, segment])
    if by_text is None or (by_argument is not None and by_argument[0].place < by_text[0].place):
        return by_argument
    return by_text


@cache
def index_of(resolver: URLResolver) -> RouteIndex:
    """Return the index of a URLconf, made at its first use."""
    return RouteIndex(resolver)
