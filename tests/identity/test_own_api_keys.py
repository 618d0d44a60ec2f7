"""Test that a logged-in account can create, rotate, and revoke its keys, and that a key can't create keys."""

from datetime import timedelta

from django.utils import timezone

from config.webhooks.models import Event
from identity.access import tokens
from identity.access.keys import KEYS_MAX
from identity.models import AccountHistory, ApiKey
from tests.api import ApiClient, assert_error
from tests.identity.support import issue
from tests.second_factors import authenticator_of

PATH = "/api-keys"


def create_api_key(api, **body):
    answer = api.send(PATH, {"name": "shop", **body})
    assert answer.status_code == 201, answer.content
    return answer.json()


def actions(user):
    return list(AccountHistory.objects.filter(account=user).order_by("id").values_list("action", flat=True))


def test_created_api_key_is_returned_once_and_works(api, user, stranger_api):
    assert_error(api.send(PATH, {"name": "a\u202eb"}), 400, "E1001")
    assert not ApiKey.objects.exists()
    key = create_api_key(api, scopes=["offers:read"], expires_days=30)
    assert ApiClient(api_key=key["key"]).read("/auth/me").json()["scopes"] == ["offers:read"]
    days = ApiKey.objects.get(pk=key["id"]).expires_at - timezone.now()
    assert timedelta(days=29) < days < timedelta(days=30)
    page = api.read(PATH)
    (shown,) = page.json()["api_keys"]
    assert (shown["id"], shown["name"], shown["scopes"], shown["state"]) == (
        key["id"], "shop", ["offers:read"], "active",
    )  # fmt: skip
    assert key["key"] not in page.content.decode()
    assert key["secret"] not in page.content.decode()
    assert stranger_api.read(PATH).json() == {"api_keys": [], "total": 0, "has_more": False}
    assert actions(user) == ["api_key.created"]
    assert Event.objects.filter(account_id=user.pk, type="api_key.created").count() == 1


def test_an_unrestricted_key_cannot_create_or_list_keys(user):
    key = issue(user)
    caller, text = ApiClient(api_key=key.key), f"{PATH}/{key.record.pk}"
    for answer in (
        caller.read(PATH), caller.send(PATH, {"name": "n"}), caller.send(f"{text}/rotate"), caller.remove(text),
    ):  # fmt: skip
        assert_error(answer, 403, "E2005")
    assert ApiKey.objects.count() == 1


def test_api_key_rotated_over_the_api_works_during_its_grace_period(api, user):
    old = create_api_key(api, scopes=["offers:read"])
    answer = api.send(f"{PATH}/{old['id']}/rotate", {"grace_days": 1}).json()
    assert (answer["replaces"], answer["scopes"], answer["name"]) == (old["id"], ["offers:read"], "shop")
    for key in (old["key"], answer["key"]):
        assert ApiClient(api_key=key).read("/auth/me").status_code == 200
    ending = ApiKey.objects.get(pk=old["id"]).expires_at - timezone.now()
    assert timedelta(hours=23) < ending < timedelta(days=1)
    assert actions(user) == ["api_key.created", "api_key.rotated"]


def test_revoked_api_key_is_rejected_immediately_and_cannot_be_rotated(api, user):
    key = create_api_key(api)
    path = f"{PATH}/{key['id']}"
    assert [api.remove(path).status_code for _ in range(2)] == [200, 200]
    assert_error(ApiClient(api_key=key["key"]).read("/auth/me"), 401, "E2009")
    assert_error(api.send(f"{path}/rotate"), 400, "E3004")
    assert actions(user) == ["api_key.created", "api_key.revoked"]
    assert api.read(PATH).json()["api_keys"][0]["state"] == "revoked"


def test_api_key_above_the_limit_of_20_per_account_is_rejected(api, user):
    for _ in range(KEYS_MAX):
        issue(user)
    assert_error(api.send(PATH, {"name": "n"}), 400, "E1001")
    last = ApiKey.objects.first()
    assert_error(api.send(f"{PATH}/{last.pk}/rotate", {"grace_days": 7}), 400, "E1001")
    assert ApiKey.objects.count() == KEYS_MAX
    assert api.send(f"{PATH}/{last.pk}/rotate", {"grace_days": 0}).status_code == 200
    api.remove(f"{PATH}/{ApiKey.objects.first().pk}")
    authenticator_of(user)
    strong = tokens.start_family(user=user, now=timezone.now(), second_factor=True).access_token
    assert create_api_key(ApiClient(bearer=strong))["key"]
