"""Heavy operations: one slot of an account, two of a process; few others wait, and not for long."""

import re
import threading
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.urls import get_resolver

from config.api import heavy
from config.api.models import RateCounter
from config.api.rate_limits import RateLimited
from config.checks import routes
from tests.api import ApiClient, assert_error, client_of
from tests.credit.scoring.past import model_of, version_of
from tests.factories import ProviderFactory, UserFactory
from tests.identity.support import issue, stop_clock

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
NOON = 1_800_000_000


def turn_of(account):
    """Hold a turn as an account's request would."""
    return heavy.turn(SimpleNamespace(auth=SimpleNamespace(user_id=account.pk, label="")))


@pytest.fixture
def evaluate(user):
    """Send the smallest request of a heavy operation."""
    version = version_of(model_of(ProviderFactory(owner=user)))

    def send(client):
        return client.send(f"/scoring/models/{version.model_id}/versions/1/evaluate", {"facts": {}})

    return send


def test_a_second_one_of_the_same_account_is_refused(user, api, evaluate):
    with turn_of(user):
        refused = evaluate(api)
        assert_error(refused, 429, "E6001")
        assert refused.headers["Retry-After"] == "1"
        assert_error(evaluate(ApiClient(api_key=issue(user).key)), 429, "E6001")
    assert evaluate(api).status_code == 200


def test_the_account_has_one_turn_in_all_processes_together(user, api, evaluate, monkeypatch):
    with turn_of(user), monkeypatch.context() as other_process:
        other_process.setattr(heavy, "_turns", threading.BoundedSemaphore(heavy.AT_ONCE))
        assert_error(evaluate(api), 429, "E6001")


def test_a_process_works_on_two_and_the_third_account_is_refused(stranger, evaluate, api):
    with turn_of(stranger), turn_of(UserFactory()):
        refused = evaluate(api)
        assert_error(refused, 503, "E5030")
        assert refused.headers["Retry-After"] == "1"
    assert evaluate(api).status_code == 200


def test_everything_else_goes_on(user, stranger, api, stranger_api):
    with turn_of(user), turn_of(stranger):
        for client in (api, stranger_api):
            assert client.read("/applications").status_code == 200


def test_a_turn_ends_with_the_request_however_that_ends(user, api, evaluate):
    for _ in range(3):
        assert_error(api.send("/scoring/models/999/versions/1/evaluate", {"facts": {}}), 404, "E4011")
        assert_error(api.send("/scoring/models/999/versions/1/evaluate", {}), 400, "E1001")
    with pytest.raises(ZeroDivisionError), turn_of(user):
        raise ZeroDivisionError
    assert evaluate(api).status_code == 200
    assert set(RateCounter.objects.filter(bucket__startswith="heavy:").values_list("used", flat=True)) == {0}


def test_a_slot_lasts_into_the_next_minute(user, monkeypatch):
    stop_clock(monkeypatch, "config.api.heavy", NOON + 59)
    with turn_of(user):
        stop_clock(monkeypatch, "config.api.heavy", NOON + 61)
        with pytest.raises(RateLimited), turn_of(user):
            pass


def test_a_killed_process_frees_its_slot_after_two_minutes(user, monkeypatch):
    stop_clock(monkeypatch, "config.api.heavy", NOON)
    running = ExitStack()
    running.enter_context(turn_of(user))
    stop_clock(monkeypatch, "config.api.heavy", NOON + 120)
    with turn_of(user):
        pass
    running.close()


def test_a_version_is_heavy_as_pmml_alone(user, api):
    path = f"/scoring/models/{version_of(model_of(ProviderFactory(owner=user))).model_id}/versions/1"
    with turn_of(user):
        assert api.read(path).status_code == 200
        assert_error(api.read(path, Accept="application/xml"), 429, "E6001")


def test_the_documentation_names_each_of_them():
    declared = set()
    for route, pattern in routes(get_resolver("config.urls").url_patterns):
        for method, action in getattr(pattern.callback, "actions", {}).items():
            if method != "head" and hasattr(getattr(pattern.callback.cls, action), "is_heavy"):
                path = re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", route)
                declared.add(f"{method.upper()} /{path}")
    text = (ROOT / "docs/guides/errors-and-retries.md").read_text()
    assert declared
    assert {name for name in declared if f"`{name}`" not in text} == set()


def test_clients_of_another_account_are_not_held_up(stranger, user, evaluate):
    with turn_of(stranger):
        assert evaluate(client_of(user)).status_code == 200
