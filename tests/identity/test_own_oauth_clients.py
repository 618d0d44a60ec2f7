"""`/oauth/clients`: an account registers, changes and removes its own OAuth clients, logged in."""

import pytest
from django.utils import timezone

from config.webhooks.models import Endpoint, Event
from identity.models import AccountHistory, OAuthClient, TokenFamily
from identity.oauth.own_clients import CLIENTS_MAX
from tests.api import ApiClient, assert_error
from tests.identity.oauth_support import REDIRECT, code_for, exchange, make_client
from tests.identity.support import issue
from tests.second_factors import authenticator_of

PATH = "/oauth/clients"
BODY = {"name": "Budget app", "redirect_uris": [REDIRECT], "scopes": ["offers:read", "identity:read"]}


def made(api, **changes):
    answer = api.send(PATH, {**BODY, **changes})
    assert answer.status_code == 201, answer.content
    return answer.json()


def tokens_of(person, shown):
    client = OAuthClient.objects.get(client_id=shown["client_id"])
    return exchange(code_for(person, client), client, shown["client_secret"])


def test_a_client_made_by_api_completes_the_flow(api, stranger):
    shown = made(api)
    assert set(shown) == {"client_id", "client_secret", "name", "redirect_uris", "scopes", "public", "created_at"}
    assert ApiClient(bearer=tokens_of(stranger, shown).json()["access_token"]).read("/auth/me").json()[
        "user_id"
    ] == str(stranger.pk)
    page = api.read(PATH)
    assert page.json()["clients"] == [{name: shown[name] for name in shown if name != "client_secret"}]
    assert api.read(f"{PATH}/{shown['client_id']}").json() == page.json()["clients"][0]


def test_a_public_client_has_no_secret(api):
    shown = made(api, public=True)
    assert (shown["public"], shown["client_secret"]) == (True, None)
    assert_error(api.send(f"{PATH}/{shown['client_id']}/rotate-secret"), 400, "E3004")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "a\u200bb"}, {"redirect_uris": ["http://app.example\u00a0/x#y"]},
        {"redirect_uris": ["https://app.example/a http://evil.example/"]}, {"redirect_uris": ["https://["]},
        {"redirect_uris": ["http://app.example/x"]}, {"redirect_uris": ["https://me:secret@app.example/x"]},
        {"redirect_uris": ["https://app.example\\x"]}, {"redirect_uris": ["http://127.0.0.1:99999/x"]},
        {"redirect_uris": ["https://app.example/#fragment"]}, {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["https://app.example:99999/"]}, {"scopes": ["everything"]},
    ],
)  # fmt: skip
def test_an_invalid_client_is_rejected(api, changes):
    assert_error(api.send(PATH, {**BODY, **changes}), 400, "E1001")
    assert_error(api.call("PATCH", f"{PATH}/{made(api)['client_id']}", changes), 400, "E1001")


def test_two_clients_of_one_name_would_deceive_people(api, stranger_api):
    made(api)
    for name in ("Budget app", "BUDGET APP"):
        assert_error(stranger_api.send(PATH, {**BODY, "name": name}), 400, "E1001")
    other = made(stranger_api, name="Other")["client_id"]
    assert_error(stranger_api.call("PATCH", f"{PATH}/{other}", {"name": "budget app"}), 400, "E1001")
    assert stranger_api.call("PATCH", f"{PATH}/{other}", {"name": "OTHER"}).json()["name"] == "OTHER"


def test_changes_keep_what_people_consented_to(api, stranger):
    shown = made(api)
    held = tokens_of(stranger, shown).json()
    changes = {"name": "Savings app", "redirect_uris": ["https://b.example/x"], "scopes": ["wallet:read"]}
    answer = api.call("PATCH", f"{PATH}/{shown['client_id']}", changes).json()
    assert {name: answer[name] for name in changes} == changes
    assert ApiClient(bearer=held["access_token"]).read("/auth/me").json()["scopes"] == ["offers:read"]


def test_a_rotated_secret_replaces_the_old_one(api, stranger):
    shown = made(api)
    fresh = api.send(f"{PATH}/{shown['client_id']}/rotate-secret").json()
    assert tokens_of(stranger, shown).status_code == 401
    assert tokens_of(stranger, {**shown, "client_secret": fresh["client_secret"]}).status_code == 200


def test_a_removed_client_loses_access(api, user, stranger):
    shown = made(api, scopes=["webhooks", "offers:read"])
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
    told = Event.objects.filter(account_id=user.pk).values_list("type", flat=True)
    assert set(told) == {"oauth_client.created", "oauth_client.deleted"}


def test_clients_are_hidden_from_keys_and_other_accounts(api, user, stranger_api):
    key, path = ApiClient(api_key=issue(user).key), f"{PATH}/{made(api)['client_id']}"
    for answer in (
        key.read(path), key.call("PATCH", path, {"name": "x"}), key.send(f"{path}/rotate-secret"), key.remove(path),
        key.send(PATH, BODY),
    ):  # fmt: skip
        assert_error(answer, 403, "E2005")
    assert stranger_api.read(PATH).json()["clients"] == []
    of_operator, _ = make_client(name="Of the operator")
    assert_error(api.read(f"{PATH}/{of_operator.client_id}"), 404, "E4001")


def test_an_account_with_a_second_factor_must_use_it(api, user):
    path = f"{PATH}/{made(api)['client_id']}"
    authenticator_of(user)
    assert_error(api.send(PATH, {**BODY, "name": "Second"}), 403, "E2012")
    for answer in (api.call("PATCH", path, {}), api.send(f"{path}/rotate-secret"), api.remove(path)):
        assert_error(answer, 403, "E2012")


def test_an_account_has_twenty_clients_at_most(api):
    for number in range(CLIENTS_MAX):
        made(api, name=f"App {number}")
    assert_error(api.send(PATH, {**BODY, "name": "One more"}), 400, "E1001")
