"""Alter a vendor's JSON response: remove each member in turn, and replace it with values of wrong types."""

import copy
import json
import random

from tests.properties import share_of

HOSTILE = (
    None, True, 0, -1, 1.5, 10**30, float("inf"), "", "x", "\0", "a\0b", "\ud800", "x" * 3_000, [], [[]], {}, {"a": []},
    ["x"], "https://[", "https://a\r\nb: c",
)  # fmt: skip
REMOVED = object()


def _places(document, place=()):
    yield place
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in members if isinstance(document, dict | list) else ():
        yield from _places(value, (*place, name)) if isinstance(value, dict | list) else [(*place, name)]


def altered(document, place, value):
    """Return a copy of a document in which the member at a place is removed or replaced."""
    if not place:
        return None if value is REMOVED else value
    changed = copy.deepcopy(document)
    parent = changed
    for name in place[:-1]:
        parent = parent[name]
    if value is REMOVED:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return changed


def alterations(document, count):
    """Return the profile's share of `count` alterations, as `(place, value, document)`. They are the same every run."""
    every = [(place, value) for place in _places(document) for value in (REMOVED, *HOSTILE)]
    chosen = random.Random(1).sample(every, min(share_of(count), len(every)))
    return [(place, value, altered(document, place, value)) for place, value in chosen]


def try_each(double, path, call, count, *, method=None):
    """Call `call` with altered responses of a double at a path. Return the number of altered responses that it sent.

    `call` gets no argument, and raises an error if the result is neither right nor a documented error.
    """
    honest = []

    def record(request, body):
        if request.path.startswith(path) and (method is None or request.method == method):
            honest.append(body)
        return body

    double.alter = record
    call()
    tried = 0
    for place, value, document in alterations(json.loads(honest[-1]), count):
        sent = []

        def replace(request, body, document=document, sent=sent):
            if request.path.startswith(path) and (method is None or request.method == method):
                sent.append(1)
                return json.dumps(document).encode()
            return body

        double.alter = replace
        try:
            call()
        except Exception as error:
            error.add_note(f"{path}: {'/'.join(map(str, place))} was {'removed' if value is REMOVED else repr(value)}")
            raise
        tried += bool(sent)
    double.alter = None
    return tried
