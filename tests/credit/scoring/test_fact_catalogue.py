"""The catalogue of facts, and reading them about a person."""

from datetime import UTC, datetime

import pytest

from credit.scoring import facts

NOW = datetime(2026, 3, 28, 23, 59, tzinfo=UTC)
DATA = {
    "income": 5, "rate": 0.25, "own": True, "housing": "rent", "nothing": None, "list": [1, {"a": 2}],
    "person": {"job": {"months": 7}, "months": 8}, "": {"a": 9}, "with.dot": 10,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _known_facts(monkeypatch):
    """An empty catalogue."""
    monkeypatch.setattr(facts, "_registered", {})


def gathered(*names, data=None):
    return facts.gather(names, user_id=7, application_data=DATA if data is None else data, now=NOW)


def test_a_fact_is_read_for_the_person_at_the_moment():
    facts.register("account.age_days", "number", lambda user_id, now: [user_id, now])
    assert gathered("account.age_days") == {"scored_on": "2026-03-28", "account.age_days": [7, NOW]}


def test_the_same_name_again_takes_the_place_of_the_first():
    facts.register("b.fact", "number", lambda _user, _now: 1)
    facts.register("a.fact", "boolean", lambda _user, _now: True)
    facts.register("b.fact", "text", lambda _user, _now: "x")
    assert [(name, fact.type) for name, fact in facts.catalogue().items()] == [
        ("a.fact", "boolean"),
        ("b.fact", "text"),
    ]
    assert gathered("b.fact")["b.fact"] == "x"


def test_a_fact_of_a_type_that_is_none_is_refused():
    with pytest.raises(ValueError, match="date is none of number, text, boolean"):
        facts.register("a", "date", lambda _user, _now: None)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("income", 5), ("rate", 0.25), ("own", True), ("housing", "rent"), ("nothing", None), ("list", None),
        ("list.0", None), ("person", None), ("person.job.months", 7), ("person.months", 8), ("person.job", None),
        ("income.deeper", None), ("housing.0", None), ("absent", None), ("person.absent.months", None),
    ],
)  # fmt: skip
def test_what_an_application_says_is_read_by_its_path(path, value):
    name = f"application_data.{path}"
    assert gathered(name) == {"scored_on": "2026-03-28", name: value}


@pytest.mark.parametrize("data", [{}, [], None, "text", 5])
def test_an_application_that_says_nothing_has_no_facts(data):
    assert facts.gather(["application_data.income"], user_id=7, application_data=data, now=NOW) == {
        "scored_on": "2026-03-28",
        "application_data.income": None,
    }


def test_an_unknown_fact_is_none_and_nobody_is_asked_for_what_is_not_named():
    facts.register("never.asked", "number", lambda _user, _now: pytest.fail("was asked"))
    assert gathered("no.such") == {"scored_on": "2026-03-28", "no.such": None}


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("known", "boolean"), ("application_data.a", "any"), ("application_data.a.b-c.D_9", "any"), ("unknown", None),
        ("application_data", None), ("application_data.", None), ("application_data.a.", None),
        ("application_data..a", None), ("application_data.a b", None), ("application_data.ü", None),
        ("application_data.a\n", None), ("", None), ("Application_data.a", None),
        ("application_data" + ".a" * 8, "any"), ("application_data" + ".a" * 9, None),
        ("application_data." + "a" * 60, "any"), ("application_data." + "a" * 61, None),
    ],
)  # fmt: skip
def test_a_name_has_the_type_of_its_fact(name, type_):
    facts.register("known", "boolean", lambda _user, _now: True)
    assert facts.type_of(name) == type_
