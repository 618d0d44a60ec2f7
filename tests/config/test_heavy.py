"""Test that heavy operations have one slot per account and two per process, and that few requests wait briefly."""

import re
import threading
from contextlib import ExitStack
from inspect import getmembers, getmodule, getsource, isfunction
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from django.db import connection
from django.urls import get_resolver

from config.api import heavy
from config.api.models import RateCounter
from config.api.rate_limits import RateLimited
from config.checks import routes
from config.core.errors import Unavailable
from tests.api import ApiClient, assert_error, client_of
from tests.credit.scoring.past import model_of, version_of
from tests.factories import ProviderFactory, UserFactory
from tests.identity.support import issue, stop_clock

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
NOON = 1_800_000_000


def slot_of(account):
    """Hold a slot, as a request of the account does."""
    return heavy.slot(SimpleNamespace(auth=SimpleNamespace(user_id=account.pk, label="")))


@pytest.fixture(autouse=True)
def _impatient(impatient):
    """Shorten the wait for a slot."""


@pytest.fixture
def evaluate(user):
    """Send the smallest request of a heavy operation."""
    version = version_of(model_of(ProviderFactory(owner=user)))

    def send(client):
        return client.send(f"/scoring/models/{version.model_id}/versions/1/evaluate", {"facts": {}})

    return send


def test_account_has_one_heavy_request_slot_across_all_credentials_and_processes(user, api, evaluate, monkeypatch):
    with slot_of(user):
        refused = evaluate(api)
        assert_error(refused, 429, "E6001")
        assert refused.headers["Retry-After"] == "1"
        assert_error(evaluate(ApiClient(api_key=issue(user).key)), 429, "E6001")
    assert evaluate(api).status_code == 200
    with slot_of(user), monkeypatch.context() as other_process:
        other_process.setattr(heavy, "_slots", threading.BoundedSemaphore(heavy.AT_ONCE))
        assert_error(evaluate(api), 429, "E6001")


REJECTED = [
    (404, f"/applications/{UUID(int=1)}/score", None),
    (404, "/scoring/models/999/versions/1/evaluate", {"facts": {}}),
    (404, "/scoring/models/999/versions/1/compare", {"with": 2}),
    (404, "/scoring/models/999/monitoring?version=1", None),
    (404, "/providers/999/decisions", None),
    (404, f"/applications/{UUID(int=1)}/notices/{UUID(int=2)}", None),
    (400, "/offers/match", {"facts": 5}),
]


def test_light_and_rejected_requests_use_no_heavy_request_slot(user, stranger, api, stranger_api):
    with slot_of(user), slot_of(stranger):
        for client in (api, stranger_api):
            assert client.read("/applications").status_code == 200
    for status, path, body in REJECTED:
        with slot_of(stranger), slot_of(UserFactory()):
            response = api.read(path) if body is None else api.send(path, body)
        assert response.status_code == status, (status, path, body)


def test_heavy_operation_waits_for_a_slot_of_the_process(api, evaluate, monkeypatch):
    monkeypatch.setattr(heavy, "WAIT_SECONDS", 60)
    held = [heavy._slots.acquire(blocking=False) for _ in range(heavy.AT_ONCE)]
    assert all(held)
    threading.Timer(0.05, heavy._slots.release).start()
    try:
        assert evaluate(api).status_code == 200
    finally:
        heavy._slots.release()


def test_waiting_heavy_requests_are_limited_in_total_and_to_one_per_account(user, stranger, monkeypatch):
    monkeypatch.setattr(heavy, "WAIT_SECONDS", 60)
    monkeypatch.setattr(heavy, "_waiting", {str(user.pk), "b", "c"})
    with slot_of(UserFactory()), slot_of(UserFactory()):
        with pytest.raises(Unavailable), slot_of(user):
            pass
        heavy._waiting.add("d")
        with pytest.raises(Unavailable), slot_of(stranger):
            pass


@pytest.mark.django_db(transaction=True)
def test_lost_database_connection_releases_its_heavy_request_slot(user):
    with slot_of(user):
        connection.connection.close()
    with slot_of(user):
        pass


def test_heavy_request_slot_is_released_after_the_request_for_every_outcome(user, api, evaluate):
    for _ in range(3):
        assert_error(api.send("/scoring/models/999/versions/1/evaluate", {"facts": {}}), 404, "E4011")
        assert_error(api.send("/scoring/models/999/versions/1/evaluate", {}), 400, "E1001")
    with pytest.raises(ZeroDivisionError), slot_of(user):
        raise ZeroDivisionError
    assert evaluate(api).status_code == 200
    assert set(RateCounter.objects.filter(bucket__startswith="heavy:").values_list("used", flat=True)) == {0}


def test_heavy_request_slot_remains_occupied_in_the_next_minute(user, monkeypatch):
    stop_clock(monkeypatch, "config.api.heavy", NOON + 59)
    with slot_of(user):
        stop_clock(monkeypatch, "config.api.heavy", NOON + 61)
        monkeypatch.setattr(heavy, "_waiting", {str(user.pk)})
        with pytest.raises(RateLimited), slot_of(user):
            pass


def test_heavy_request_slot_of_a_killed_process_is_released_after_2_minutes(user, monkeypatch):
    stop_clock(monkeypatch, "config.api.heavy", NOON)
    running = ExitStack()
    running.enter_context(slot_of(user))
    stop_clock(monkeypatch, "config.api.heavy", NOON + 120)
    with slot_of(user):
        pass
    running.close()


def test_reading_a_model_version_uses_a_heavy_request_slot_only_in_pmml_format(user, api):
    path = f"/scoring/models/{version_of(model_of(ProviderFactory(owner=user))).model_id}/versions/1"
    with slot_of(user):
        assert api.read(path).status_code == 200
        assert_error(api.read(path, Accept="application/xml"), 429, "E6001")


def _is_heavy(action):
    """Return whether a method, or a function of its module that it calls, acquires a slot."""
    source, module = getsource(action), getmodule(action)
    functions = [function for _, function in getmembers(module, isfunction) if function.__module__ == module.__name__]
    helpers = [function.__name__ for function in functions if "heavy." in getsource(function)]
    return "heavy." in source or any(f"{name}(" in source for name in helpers)


def test_the_documentation_lists_each_heavy_operation():
    declared = set()
    for route, pattern in routes(get_resolver("config.urls").url_patterns):
        for method, action in getattr(pattern.callback, "actions", {}).items():
            if method != "head" and _is_heavy(getattr(pattern.callback.cls, action)):
                path = re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", route)
                declared.add(f"{method.upper()} /{path}")
    text = (ROOT / "docs/guides/rate-limits.md").read_text()
    assert declared
    assert {name for name in declared if f"`{name}`" not in text} == set()


def test_third_account_gets_503_while_heavy_requests_of_two_accounts_run(stranger, user, evaluate, api):
    with slot_of(stranger):
        assert evaluate(client_of(user)).status_code == 200
    with slot_of(stranger), slot_of(UserFactory()):
        refused = evaluate(api)
        assert_error(refused, 503, "E5030")
        assert refused.headers["Retry-After"] == "1"
    assert evaluate(api).status_code == 200
