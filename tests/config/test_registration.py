"""Test that no code contains the name of another app, or of its objects, in a string."""

import ast
import re

import pytest
from django.apps import apps

from config.backoffice import html
from config.core import registration
from tests.product import sources

APPS = ("identity", "credit", "claims", "payments", "staging", "ledger")
SHARED = ("api", "backoffice", "clients", "core", "ops", "webhooks")
MAY = {
    # `make run` starts the ledger by the name of its WSGI module.
    ("config/ops/supervisor.py", "ledger.wsgi"),
    # Scorecards name facts about an applicant's identity; these strings compute the facts or are their titles.
    *((path, f"identity.{fact}")
      for path in ("credit/scoring/known_facts.py", "credit/my/rights_pages.py")
      for fact in ("name_match", "verified", "verified_days_ago")),
}  # fmt: skip

OURS = [app for app in apps.get_app_configs() if isinstance(app, registration.Declarations)]
ASKED = registration.Declarations.__annotations__


def strings_of(tree):
    """Yield the strings of a module except for docstrings."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def named(folder, others):
    """Return (file, string) for every string in a folder that names a module or model of another app."""
    pattern = re.compile(rf"({'|'.join(others)})\.[A-Za-z_.]+")
    modules = [
        source
        for source in sources().values()
        if source[0].startswith(f"{folder}/") and "/migrations/" not in source[0]
    ]
    assert modules
    return {(path, text) for path, tree in modules for text in strings_of(tree) if pattern.fullmatch(text)} - MAY


def test_source_code_of_a_django_app_mentions_no_other_app():
    for part in SHARED:
        assert named(f"config/{part}", APPS) == set(), part
    for app in APPS:
        assert named(app, [other for other in APPS if other != app]) == set(), app


def test_every_registration_hook_of_an_app_has_a_declaration():
    hooks = {name for app in OURS for name in vars(type(app)) if name in ASKED}
    assert {what for what in hooks if not registration.declared(what)} == set()


def test_status_declared_with_two_colors_raises_an_error(monkeypatch):
    assert "chip-good" in html.chip("Approved")
    assert "chip-quiet" in html.chip("never heard of")
    declared = [*registration.declared("tones"), ("bad", ["approved"])]
    monkeypatch.setattr(html, "declared", lambda _what: declared)
    with pytest.raises(ValueError, match="approved"):
        html._tones.__wrapped__()


def test_two_apps_must_not_declare_the_same_capability_kind_or_event():
    for what, name_of in (
        ("capabilities", lambda item: item[0]),
        ("staged_kinds", lambda item: item.name),
        ("event_types", lambda item: item.name),
    ):
        names = [name_of(item) for item in registration.declared(what)]
        assert len(names) == len(set(names)) > 1
