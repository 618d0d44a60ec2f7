"""Test that a logged-in account can register, change, and delete its OAuth clients."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor
from config.ops.checks import examine
from config.webhooks.models import Endpoint, Event
from identity.models import AccountHistory, OAuthClient, TokenFamily
from identity.oauth.clients import CLIENTS_MAX, change_own_client, create_own_client
from tests.api import ApiClient, assert_error
from tests.factories import UserFactory
from tests.identity.oauth_support import REDIRECT, code_for, exchange, make_client
from tests.identity.support import issue
from tests.races import run_concurrently

PATH = "/oauth/clients"
BODY = {"name": "Budget app", "redirect_uris": [REDIRECT], "scopes": ["offers:read", "identity:read"]}


def create_oauth_client(api, **changes):
    answer = api.send(PATH, {**BODY, **changes})
    assert answer.status_code == 201, answer.content
    return answer.json()


def tokens_of(person, shown):
    client = OAuthClient.objects.get(client_id=shown["client_id"])
    return exchange(code_for(person, client), client, shown["client_secret"])


def test_a_client_created_by_api_completes_the_code_flow(api, stranger):
    shown = create_oauth_client(api)
    assert set(shown) == {"client_id", "client_secret", "name", "redirect_uris", "scopes", "public", "created_at"}
    assert ApiClient(bearer=tokens_of(stranger, shown).json()["access_token"]).read("/auth/me").json()[
        "user_id"
    ] == str(stranger.pk)
    page = api.read(PATH)
    assert page.json()["clients"] == [{name: shown[name] for name in shown if name != "client_secret"}]
    assert api.read(f"{PATH}/{shown['client_id']}").json() == page.json()["clients"][0]


def test_redirect_uri_with_a_browser_compatible_host_is_accepted(api):
    hosts = (
        "xn--fa-hia.example", "XN--FA-HIA.example", "xn--mgbh0fb.example", "xn--ls8h.la", "ab--c.example", "a.0xg",
        "[::1]", "[2001:db8::1]:8443",
    )  # fmt: skip
    for number, host in enumerate(hosts):
        address = f"https://{host}/x"
        assert create_oauth_client(api, name=f"App {number}", redirect_uris=[address])["redirect_uris"] == [address]


def test_public_oauth_client_created_by_api_has_no_secret(api):
    shown = create_oauth_client(api, public=True)
    assert (shown["public"], shown["client_secret"]) == (True, None)
    assert_error(api.send(f"{PATH}/{shown['client_id']}/rotate-secret"), 400, "E3004")


def test_invalid_oauth_client_is_rejected(api):
    path = f"{PATH}/{create_oauth_client(api)['client_id']}"
    for changes in (
        *({"name": name} for name in ("a\u200bb", " ", "\u3164", "Bank\u200b", "a\u202eb", "\u2800")),
        {"redirect_uris": ["http://app.example\u00a0/x#y"]},
        {"redirect_uris": ["https://app.example/a http://evil.example/"]}, {"redirect_uris": ["https://["]},
        {"redirect_uris": ["http://app.example/x"]}, {"redirect_uris": ["https://me:secret@app.example/x"]},
        *({"redirect_uris": [f"https://{host}/x"]} for host in (
            "a..example", "xn--zz.example", "XN--0.example", "-a.example", ".example", "256.1.1.1", "1.2.3", "[v1.x]",
            "a.example:0", "a.example,b.example",
            "%61.example", "[fe80::1%25eth0]", f"{'a' * 64}.example", "a!b", "a.example/%zz", "a.example/%",
            "127.0.0.0x1", "a.0xF", "[::1]x", "xn--a.example", "xn--pokxncvks.example", "xn--ascii-.example",
            "xn--1ug.example", "xn--a-yoc.example",
        )),
        {"redirect_uris": ["https://app.example\\x"]}, {"redirect_uris": ["http://127.0.0.1:99999/x"]},
        {"redirect_uris": ["https://app.example/#fragment"]}, {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["https://app.example:99999/"]}, {"scopes": ["everything"]},
    ):  # fmt: skip
        assert_error(api.send(PATH, {**BODY, "name": "Other", **changes}), 400, "E1001")
        assert_error(api.call("PATCH", path, changes), 400, "E1001")
    assert OAuthClient.objects.count() == 1


def refresh_form(held, shown):
    secret = {name: shown[name] for name in ("client_id", "client_secret")}
    return {"grant_type": "refresh_token", "refresh_token": held["refresh_token"], **secret}


def test_changes_of_an_oauth_client_and_a_new_secret_do_not_affect_existing_grants(api, stranger):
    shown = create_oauth_client(api)
    held = tokens_of(stranger, shown).json()
    changes = {"name": "Savings app", "redirect_uris": ["https://b.example/x"], "scopes": ["wallet:read"]}
    answer = api.call("PATCH", f"{PATH}/{shown['client_id']}", changes).json()
    assert {name: answer[name] for name in changes} == changes
    assert ApiClient(bearer=held["access_token"]).read("/auth/me").json()["scopes"] == ["offers:read"]
    fresh = api.send(f"{PATH}/{shown['client_id']}/rotate-secret").json()
    answer = ApiClient().send("/oauth/token", refresh_form(held, shown))
    assert answer.status_code == 401, "the old secret"
    assert ApiClient().send("/oauth/token", refresh_form(held, {**shown, **fresh})).status_code == 200


def test_deleted_oauth_client_loses_access(api, user, stranger):
    shown = create_oauth_client(api, scopes=["webhooks", "offers:read"])
    held = tokens_of(stranger, shown).json()
    now = timezone.now()
    Endpoint.objects.create(
        account_id=stranger.pk, client_id=shown["client_id"], url="https://x.example/", event_types=["*"], secret="s",
        created_at=now, updated_at=now,
    )  # fmt: skip
    path = f"{PATH}/{shown['client_id']}"
    assert api.remove(path).status_code == 200
    assert ApiClient(bearer=held["access_token"]).read("/auth/me").status_code == 401
    assert not TokenFamily.objects.filter(client__isnull=False).exists()
    assert Endpoint.objects.get().status == "disabled"
    assert_error(api.remove(path), 404, "E4001")
    history = AccountHistory.objects.filter(account=user).order_by("id")
    assert [row.action for row in history] == ["oauth_client.created", "oauth_client.deleted"]
    assert history[0].details["redirect_uris"] == [REDIRECT]
    types = Event.objects.filter(account_id=user.pk).values_list("type", flat=True)
    assert set(types) == {"oauth_client.created", "oauth_client.deleted"}


def test_oauth_clients_are_hidden_from_keys_and_other_accounts(api, user, stranger_api):
    key, path = ApiClient(api_key=issue(user).key), f"{PATH}/{create_oauth_client(api)['client_id']}"
    for answer in (
        key.read(path), key.call("PATCH", path, {"name": "x"}), key.send(f"{path}/rotate-secret"), key.remove(path),
        key.send(PATH, BODY),
    ):  # fmt: skip
        assert_error(answer, 403, "E2005")
    assert stranger_api.read(PATH).json()["clients"] == []
    of_operator, _ = make_client(name="Of the operator")
    assert_error(api.read(f"{PATH}/{of_operator.client_id}"), 404, "E4001")


def test_oauth_client_above_the_limit_of_20_per_account_is_rejected(api):
    for number in range(CLIENTS_MAX):
        create_oauth_client(api, name=f"App {number}")
    assert_error(api.send(PATH, {**BODY, "name": "One more"}), 400, "E1001")


NAME = "Caf\u00e9 Bank x"
LOOK_ALIKES = [
    "Cafe\u0301 Bank x",
    "  Caf\u00e9\u3000 Bank x ",
    "CAF\u00c9 BANK X",
    "\uff23\uff41\uff46\u00e9 \uff22\uff41\uff4e\uff4b \uff58",
    "C\u0430f\u00e9 B\u0430nk x",
]


@pytest.mark.django_db
def test_a_client_name_that_looks_like_the_name_of_another_client_is_rejected(api, stranger_api):
    path = f"{PATH}/{create_oauth_client(api, name=NAME)['client_id']}"
    other = create_oauth_client(stranger_api, name="Other")["client_id"]
    for name in LOOK_ALIKES:
        for answer in (
            stranger_api.send(PATH, {**BODY, "name": name}),
            stranger_api.call("PATCH", f"{PATH}/{other}", {"name": name}),
        ):
            assert assert_error(answer, 400, "E1001")["details"][0]["field"] == "name"
        with pytest.raises(CommandError):
            call_command("create_oauth_client", name, "--redirect-uri", REDIRECT, "--scope", "offers:read")
    assert OAuthClient.objects.get(name="Other").client_id == other
    assert api.call("PATCH", path, {"name": LOOK_ALIKES[1]}).json()["name"] == NAME
    assert api.call("PATCH", path, {"name": LOOK_ALIKES[2]}).json()["name"] == LOOK_ALIKES[2]


@pytest.mark.usefixtures("needs_postgresql")
def test_only_one_of_concurrent_registrations_with_the_same_client_name_succeeds(committed):
    actors = [Actor(UserFactory(), "jwt:x") for _ in range(4)]

    def register(actor, name):
        try:
            facts = {"redirect_uris": [REDIRECT], "scopes": ["offers:read"], "public": True}
            return create_own_client(actor, name=name, **facts, now=timezone.now()).name
        except ValidationFailed as error:
            return [detail["field"] for detail in error.details]

    for round_ in range(10):
        names = [f"Bank {round_}", f"BANK {round_}", f"B\u0430nk {round_}", f"Bank {round_}"]
        outcomes = run_concurrently(*[lambda pair=pair: register(*pair) for pair in zip(actors, names, strict=True)])
        assert outcomes.count(["name"]) == 3, outcomes
        assert OAuthClient.objects.count() == round_ + 1


@pytest.mark.django_db
def test_existing_clients_with_the_same_name_remain_usable_and_are_listed_by_doctor():
    user = UserFactory()
    for name in ("Budget app", "Budget \u0430pp", "Other"):  # Version 1.0 stored the names in this form.
        OAuthClient.objects.create(name=name, user=user)
    fill_keys = import_module("identity.migrations.0009_client_name_keys").fill_keys
    fill_keys(apps, SimpleNamespace(connection=connection))
    first, second, third = OAuthClient.objects.order_by("pk")
    assert (first.name_key is None, second.name_key is None, third.name_key is None) == (False, True, False)
    (line,) = [check for check in examine() if check["name"] == "client_names"]
    assert line["why"].startswith("warning")
    assert f"{second.name} ({second.pk})" in line["why"]
    assert first.name + " (" not in line["why"]
    change_own_client(
        Actor(user, "jwt:x"),
        second.client_id,
        changes={"name": second.name, "scopes": ["wallet:read"]},
        now=timezone.now(),
    )
    second.refresh_from_db()
    assert (second.name_key, second.scopes) == (None, ["wallet:read"])
