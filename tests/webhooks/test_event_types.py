"""Test GET /v1/webhooks/event-types, and that the catalog matches the events in the code."""

import ast
import importlib
import re

import jsonschema
import pytest
from django.utils import timezone

from config.webhooks.catalogue import event_types
from config.webhooks.events import OBJECT_MAX_BYTES, event_body, record_event, record_events
from config.webhooks.models import Event
from identity.access.keys import create_api_key
from tests.product import sources

pytestmark = pytest.mark.django_db
WRITERS = {"record_event", "record_events"}


def name_of(call):
    """Return the last part of the name of a called function."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def pattern_of(node, module):
    """Return a pattern of the types that an argument can have; None for a parameter of the enclosing function."""
    if isinstance(node, ast.Constant):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = (re.escape(item.value) if isinstance(item, ast.Constant) else "[a-z_]+" for item in node.values)
        return "".join(parts)
    if isinstance(node, ast.IfExp):
        return f"(?:{pattern_of(node.body, module)}|{pattern_of(node.orelse, module)})"
    if isinstance(node, ast.Subscript):  # The argument is a table of event types by status.
        types = getattr(importlib.import_module(module), node.value.id)
        return f"(?:{'|'.join(map(re.escape, types.values()))})"
    constant = getattr(importlib.import_module(module), getattr(node, "id", ""), None)
    return re.escape(constant) if isinstance(constant, str) else None


def written_patterns():
    """Yield (file and line, pattern) for every call that writes an event, also through helpers that accept a type."""
    for module, (path, tree) in sources().items():
        if module.startswith(("config.webhooks.events", "ledger.")) or "migrations" in path:
            continue
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if not WRITERS & {name_of(call) for call in calls}:
            continue
        helpers = set()
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            parameters = [item.arg for item in function.args.args]
            inside = [node for node in ast.walk(function) if isinstance(node, ast.Call) and name_of(node) in WRITERS]
            if any(getattr(call.args[0], "id", "") in parameters[:1] for call in inside):
                helpers.add(function.name)
        for call in calls:
            if name_of(call) in WRITERS | helpers:
                pattern = pattern_of(call.args[0], module)
                if pattern is not None or name_of(call) not in WRITERS:
                    yield f"{path}:{call.lineno}", pattern


def test_event_catalog_contains_exactly_the_types_that_the_code_emits():
    patterns = list(written_patterns())
    assert len(patterns) > 10
    unknown = [
        (place, pattern)
        for place, pattern in patterns
        if pattern is None or not any(re.fullmatch(pattern, name) for name in event_types())
    ]
    assert unknown == []
    assert [
        name for name in event_types() if not any(re.fullmatch(item, name) for _place, item in patterns if item)
    ] == []


def test_every_event_type_is_listed_with_a_schema(api):
    listed = api.read("/webhooks/event-types").json()["event_types"]
    assert [entry["name"] for entry in listed] == list(event_types())
    for item in listed:
        assert set(item) == {"name", "description", "schema"}
        assert item["description"].endswith(".")
        jsonschema.Draft202012Validator.check_schema(item["schema"])


def test_every_event_matches_its_schema(api, user, make_endpoint):
    body = {"consumer_id": str(user.pk), "offer_id": 7, "provider_id": 9, "initial_status": "submitted"}
    application = api.send("/applications", body).json()["id"]
    api.replace(f"/applications/{application}/status", {"status": "withdrawn", "updated_by": str(user.pk)})
    offer = {"provider_id": "p", "name": "n", "product_type": "t"}
    offer_id = api.send("/provider-offers", offer).json()["id"]
    api.replace(f"/provider-offers/{offer_id}", offer)
    api.remove(f"/provider-offers/{offer_id}")
    create_api_key(owner=user, name="a", scopes=None, now=timezone.now())
    endpoint = f"/webhooks/endpoints/{make_endpoint().pk}"
    api.send(f"{endpoint}/test")
    api.call("PATCH", endpoint, {"status": "disabled"})
    written = list(Event.objects.all())
    assert {event.type for event in written} >= {
        "application.created", "application.withdrawn", "offer.created", "offer.updated", "offer.deactivated",
        "api_key.created", "webhook.test", "webhook.endpoint.disabled",
    }  # fmt: skip
    for event in written:
        jsonschema.validate(event.object, event_types()[event.type].schema)


def test_recording_an_unknown_event_type_raises_an_error(user):
    with pytest.raises(ValueError, match="catalogue"):
        record_event("wallet.stolen", account_id=user.pk, now=timezone.now())
    with pytest.raises(ValueError, match="catalogue"):
        record_events("wallet.stolen", events=[(user.pk, {})], now=timezone.now())
    assert not Event.objects.exists()


def test_event_body_is_limited_to_20_kilobytes(user):
    now = timezone.now()
    with pytest.raises(ValueError, match="bytes"):
        record_event("wallet.connected", account_id=user.pk, now=now, wallet_id="x" * OBJECT_MAX_BYTES)
    record_event("wallet.connected", account_id=user.pk, now=now, wallet_id="x" * (OBJECT_MAX_BYTES - 20))
    event = Event.objects.get()
    event.sequence = 2**63 - 1
    event.type, event.request_id = "x" * 64, "x" * 36
    assert len(event_body(event)) <= 20_000
