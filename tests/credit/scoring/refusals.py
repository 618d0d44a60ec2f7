"""Definitions with changed values, and their validation errors."""

import pytest

from config.core.errors import ValidationFailed
from credit.core import facts
from credit.scoring.definition import check
from tests.credit.scoring.cards import definition

DELETE = object()
BINS, INPUTS = "/characteristics/0/bins", "/inputs"


@pytest.fixture
def known_facts(monkeypatch):
    """Replace the catalog by three facts."""
    known = (
        facts.Fact("account.age_days", "number", lambda _user, _now: 1, "s:read"),
        facts.Fact("housing", "text", lambda _user, _now: "own", "s:read"),
        facts.Fact("identity.verified", "boolean", lambda _user, _now: True, "identity:read"),
    )
    monkeypatch.setattr(facts, "catalogue", lambda: {fact.name: fact for fact in known})


def changed(*edits):
    """Return the tests' definition with other values at some pointers; DELETE removes the field."""
    whole = definition()
    for pointer, value in edits:
        *path, last = (int(part) if part.isdigit() else part for part in pointer.strip("/").split("/"))
        at = whole
        for part in path:
            at = at[part]
        if value is DELETE:
            del at[last]
        elif isinstance(at, list) and last == len(at):
            at.append(value)
        else:
            at[last] = value
    return whole


def refusals(one):
    """Return the errors of a definition, `[(pointer, message)]`, with pointers relative to the definition."""
    with pytest.raises(ValidationFailed) as caught:
        check(one)
    details = caught.value.details
    assert 1 <= len(details) <= 20
    assert str(caught.value) == f"{details[0]['field']}: {details[0]['message']}"
    for each in details:
        assert each["field"].startswith("/definition")
        assert 0 < len(each["message"]) <= 200
    return [(each["field"].removeprefix("/definition"), each["message"]) for each in details]
