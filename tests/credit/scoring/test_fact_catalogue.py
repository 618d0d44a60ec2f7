"""Test the catalog of facts, and how facts about a person are read."""

from datetime import UTC, datetime

import pytest

from config.core.credentials import FIRST_PARTY, Credential
from credit.core import facts

NOW = datetime(2026, 3, 28, 23, 59, tzinfo=UTC)
DATA = {
    "income": 5, "rate": 0.25, "own": True, "housing": "rent", "nothing": None, "list": [1, {"a": 2}],
    "person": {"job": {"months": 7}, "months": 8}, "": {"a": 9}, "with.dot": 10,
}  # fmt: skip


@pytest.fixture
def known(monkeypatch):
    """Return a function that adds facts to an empty catalog."""
    catalogue = {}
    monkeypatch.setattr(facts, "catalogue", lambda: catalogue)

    def add(name, type_, read, *, scope):
        catalogue[name] = facts.Fact(name, type_, read, scope)

    return add


def gathered(*names, data=None, may_read=lambda _fact: True):
    said = DATA if data is None else data
    return facts.gather(names, user_id=7, application_data=said, may_read=may_read, now=NOW)


def test_fact_function_receives_the_user_and_the_time(known):
    known("account.age_days", "number", lambda user_id, now: [user_id, now], scope="s:read")
    assert gathered("account.age_days") == {"scored_on": "2026-03-28", "account.age_days": [7, NOW]}


@pytest.mark.parametrize(("path", "value"), [
    ("income", 5), ("rate", 0.25), ("own", True), ("housing", "rent"), ("nothing", None), ("list", []),
    ("list.0", 1), ("list.1", {}), ("list.1.a", 2), ("list.2", None), ("list.-1", None), ("list.00", None),
    ("list.9999999", None), ("list.a", None),
    ("person", {}), ("person.job.months", 7), ("person.months", 8), ("person.job", {}),
    ("income.deeper", None), ("housing.0", None), ("absent", None), ("person.absent.months", None),
])  # fmt: skip
def test_application_data_fact_is_read_by_path(path, value):
    name = f"application_data.{path}"
    assert gathered(name) == {"scored_on": "2026-03-28", name: value}


# Examples of RFC 6901, section 5, and names in scripts of CLDR's exemplar characters.
POINTED = {
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8,
    "~1": 9, "a b": {"/€": 10}, "سن\u200cکد": 11, "मासिक आय": 12, "月収": 13, "Гроші": 14, "dépenses\u00a0fixes": 15,
    "0": 16, "a.b": 17, "👩\u200d👧": 18,
}  # fmt: skip


@pytest.mark.parametrize(("pointer", "value"), [
    ("/foo", []), ("/foo/0", "bar"), ("/foo/1", "baz"), ("/foo/2", None), ("/foo/-", None), ("/foo/01", None), ("/", 0),
    ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8),
    ("/~01", 9), ("/a b/~1€", 10), ("/a b", {}), ("/سن\u200cکد", 11), ("/मासिक आय", 12), ("/月収", 13), ("/Гроші", 14),
    ("/dépenses\u00a0fixes", 15), ("/0", 16), ("/a.b", 17), ("/👩\u200d👧", 18), ("/a b/x", None), ("//", None),
])  # fmt: skip
def test_application_data_fact_is_read_by_pointer(pointer, value):
    name = f"application_data#{pointer}"
    assert facts.type_of(name) == "any"
    assert gathered(name, data=POINTED) == {"scored_on": "2026-03-28", name: value}


@pytest.mark.parametrize("pointer", [
    "", "a", "/~", "/~2", "/a~", "/a\n", "/a\u202eb", "/\u2066a", "/a\x7f", "/\ufeffa", "/" + "a" * 61, "/a" * 9,
    "/a\u2028", "/\x00",
])  # fmt: skip
def test_application_data_fact_with_an_invalid_pointer_is_unknown(pointer):
    assert facts.type_of(f"application_data#{pointer}") is None


@pytest.mark.parametrize("member", [*POINTED, "income"])
def test_name_of_an_application_data_fact_resolves_to_the_path_of_its_field(member):
    # A dotted name is a path.
    path = facts.path_of(facts.name_of(member))
    assert list(path) == (member.split(".") if member == "a.b" else [member])


@pytest.mark.parametrize("data", [{}, [], None, "text", 5])
def test_empty_application_data_has_no_facts(data):
    assert gathered("application_data.income", data=data or {}) == {
        "scored_on": "2026-03-28",
        "application_data.income": None,
    }


def test_only_requested_and_permitted_facts_are_loaded_and_unknown_facts_are_null(known):
    known("never.asked", "number", lambda _user, _now: pytest.fail("was read"), scope="bankdata:read")
    assert gathered("no.such") == {"scored_on": "2026-03-28", "no.such": None}
    assert gathered("never.asked", may_read=lambda fact: fact.scope != "bankdata:read")["never.asked"] is None


def test_credential_reads_only_facts_covered_by_its_scopes():
    open_to_all, none = Credential("token", "1", 7), Credential("token", "1", 7, scopes=frozenset())
    credential = Credential("token", "1", 7, scopes=frozenset({"bankdata:read", "offers:read"}), client_id="app")
    for scope, may in ((FIRST_PARTY, False), ("bankdata:read", True), ("identity:read", False)):
        fact = facts.Fact("a.fact", "number", lambda _user, _now: 1, scope)
        assert facts.covered_by(open_to_all)(fact)
        assert not facts.covered_by(none)(fact)
        assert facts.covered_by(credential)(fact) is may


def test_facts_of_an_application_include_only_shared_bank_and_identity_facts():
    names = ("bank.linked", "identity.verified", "applications.in_90_days", "banking.other")
    known = [facts.Fact(name, "number", lambda _user, _now: 1, "s:read") for name in names]
    for share, count in (([], 2), (["bank"], 3), (["identity"], 3), (["bank", "identity"], 4)):
        assert sum(map(facts.shared(share), known)) == count


@pytest.mark.parametrize(("name", "type_"), [
    ("known", "boolean"), ("application_data.a", "any"), ("application_data.a.b-c.D_9", "any"), ("unknown", None),
    ("application_data", None), ("application_data.", None), ("application_data.a.", None),
    ("application_data..a", None), ("application_data.a b", None), ("application_data.ü", None),
    ("application_data.a\n", None), ("", None), ("Application_data.a", None), ("application_data" + ".a" * 8, "any"),
    ("application_data" + ".a" * 9, None), ("application_data." + "a" * 60, "any"),
    ("application_data." + "a" * 61, None),
])  # fmt: skip
def test_fact_name_determines_the_type(name, type_, known):
    known("known", "boolean", lambda _user, _now: True, scope="s:read")
    assert facts.type_of(name) == type_
