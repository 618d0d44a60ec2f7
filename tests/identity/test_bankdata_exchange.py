"""POST /v1/bankdata/exchange: linking a bank with what Link returned."""

from functools import partial

import pytest
from django.db import connection

from identity.bank.models import BankItem
from identity.digest import digest_of
from identity.providers import plaid as plaid_module
from identity.providers.models import SandboxItem
from staging.models import StagedItem
from tests.api import ApiClient, assert_error, client_of
from tests.identity.banking import events_of, limited
from tests.identity.plaid_double import DoubleItem, Fault, account
from tests.races import at_once

pytestmark = pytest.mark.django_db
PATH = "/bankdata/exchange"
PUBLIC_TOKEN = "public-sandbox-first"


def exchange(api, user, public_token=PUBLIC_TOKEN, **options):
    return api.send(PATH, {"user_id": str(user.pk), "public_token": public_token}, **options)


def test_it_links_an_item_and_stages_its_accounts(api, user):
    response = exchange(api, user)
    assert response.status_code == 200
    shown = response.json()
    assert set(shown) == {"item_id", "linked", "staged_item_ids"}
    assert shown["linked"] is True
    item = BankItem.objects.get()
    assert (item.user, item.provider, item.item_id) == (user, "sandbox", shown["item_id"])
    assert item.accounts_staged_at is not None
    staged = StagedItem.objects.filter(user=user).order_by("id")
    assert [str(one.pk) for one in staged] == shown["staged_item_ids"]
    assert {(one.kind, one.status, one.source) for one in staged} == {
        ("bank_account", "staged", f"bank:{shown['item_id']}")
    }
    assert events_of(user, "bankdata.") == [
        ("bankdata.item.linked", {"item_id": shown["item_id"], "provider": "sandbox"})
    ]


def test_the_answer_never_holds_the_token(api, user):
    response = exchange(api, user)
    token = BankItem.objects.get().access_token
    assert token.startswith("access-sandbox-")
    assert token not in response.content.decode()
    assert token not in str(list(StagedItem.objects.values()))
    assert token not in str(events_of(user, ""))


def test_a_public_token_is_good_once(api, user, stranger, stranger_api):
    assert exchange(api, user).status_code == 200
    for client, person in ((api, user), (stranger_api, stranger)):
        assert_error(exchange(client, person), 400, "E1001")
    assert BankItem.objects.count() == 1
    assert StagedItem.objects.count() == 3


@pytest.mark.parametrize(
    "token",
    [
        "garbage",
        "public-sandbox-",
        "access-sandbox-demo",
        "public-production-x",
    ],
)
def test_what_the_provider_refuses_is_400(api, user, token):
    body = assert_error(exchange(api, user, token), 400, "E1001")
    assert body["details"][0]["field"] == "public_token"
    assert token not in str(body)
    assert BankItem.objects.count() == 0


@pytest.mark.parametrize("token", [None, 5, "", "a" * 513, ["x"], {"a": 1}])
def test_a_token_that_is_none_is_400(api, user, token):
    assert_error(exchange(api, user, token), 400, "E1001")


def test_a_missing_member_is_400(api, user):
    assert_error(api.send(PATH, {"user_id": str(user.pk)}), 400, "E1001")
    assert_error(api.send(PATH, {"public_token": PUBLIC_TOKEN}), 400, "E1001")


def test_it_is_for_oneself(api, stranger):
    assert_error(exchange(api, stranger), 401, "E2004")
    assert SandboxItem.objects.count() == 0


def test_nobody_links_nothing(anonymous):
    assert_error(anonymous.send(PATH, {"user_id": "1", "public_token": PUBLIC_TOKEN}), 401, "E2001")


def test_it_needs_its_scope(user):
    assert_error(exchange(limited(user, "bankdata:read"), user), 403, "E2005")
    assert_error(exchange(limited(user, "identity:write"), user), 403, "E2005")
    assert exchange(limited(user, "bankdata:write"), user).status_code == 200


def test_several_items_are_kept(api, user):
    for number in range(3):
        assert exchange(api, user, f"public-sandbox-{number}").status_code == 200
    assert BankItem.objects.filter(user=user).count() == 3


def test_plaid_is_asked_outside_any_transaction(committed, plaid, user, monkeypatch, judge):
    seen = []
    real = plaid_module.call

    def watch(*arguments, **options):
        seen.append(connection.in_atomic_block)
        return real(*arguments, **options)

    monkeypatch.setattr(plaid_module, "call", watch)
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1), account(2)]))
    shown = exchange(client_of(user), user, "public-double-1").json()
    assert len(shown["staged_item_ids"]) == 2
    assert seen == [False, False]
    assert BankItem.objects.get().access_token in plaid.items
    judge.judge(plaid.exchanges)


def break_storing():
    """Make storing an item fail as a busy database does; the test's own transaction takes it back."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("ALTER TABLE identity_bankitem RENAME TO identity_bankitem_gone")
            return
        cursor.execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
                       "BEGIN RAISE EXCEPTION 'busy' USING ERRCODE = '40001'; END $$")  # fmt: skip
        cursor.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON identity_bankitem FOR EACH ROW EXECUTE FUNCTION refuse()"
        )


def test_a_token_that_cannot_be_stored_is_ended_at_plaid(judged_plaid, api, user):
    judged_plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    break_storing()
    assert_error(exchange(api, user, "public-double-1"), 503, "E5030")
    assert judged_plaid.items == {}
    assert len(judged_plaid.removed) == 1
    assert StagedItem.objects.count() == 0


def test_a_token_that_cannot_be_stored_is_ended_at_the_sandbox(api, user):
    break_storing()
    assert_error(exchange(api, user), 503, "E5030")
    assert SandboxItem.objects.get().removed_at is not None


def test_a_token_that_can_neither_be_stored_nor_ended_is_reported_without_it(plaid, api, user, caplog):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    plaid.fail("/item/remove", Fault(500, b"x"))
    break_storing()
    assert_error(exchange(api, user, "public-double-1"), 503, "E5030")
    (token,) = plaid.items
    assert "item item-1 was linked, not stored, and could not be removed" in caplog.text
    assert token not in caplog.text


def test_an_item_that_somebody_else_linked_is_refused_and_left_to_them(plaid, api, user, stranger, stranger_api):
    item = DoubleItem("item-1", [account(1)])
    plaid.offer("public-double-1", item)
    plaid.offer("public-double-2", item)
    assert exchange(stranger_api, stranger, "public-double-1").status_code == 200
    assert_error(exchange(api, user, "public-double-2"), 400, "E1001")
    assert BankItem.objects.get().user == stranger
    assert plaid.removed == []


def test_linking_an_item_again_renews_its_token(plaid, api, user):
    item = DoubleItem("item-1", [account(1)])
    for number in (1, 2):
        plaid.offer(f"public-double-{number}", item)
        assert exchange(api, user, f"public-double-{number}").status_code == 200
    stored = BankItem.objects.get()
    assert stored.access_token == list(plaid.items)[-1]
    assert stored.token_fingerprint == digest_of(stored.access_token)


def test_an_item_whose_accounts_cannot_be_read_is_linked_all_the_same(plaid, api, user):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    plaid.fail("/accounts/get", Fault(500, b"x"))
    assert exchange(api, user, "public-double-1").json() == {
        "item_id": "item-1",
        "linked": True,
        "staged_item_ids": [],
    }
    assert BankItem.objects.get().accounts_staged_at is None


def test_a_provider_that_fails_is_502_and_links_nothing(plaid, api, user):
    plaid.fail("/item/public_token/exchange", Fault(500, b"x"))
    assert_error(exchange(api, user, "public-double-1"), 502, "E5003")
    assert BankItem.objects.count() == 0


@pytest.mark.parametrize("provider", ["sandbox", "plaid"])
def test_one_public_token_at_once_links_once(committed, needs_postgresql, user, plaid, settings, provider):
    settings.OPEN_BANKING = provider
    plaid.offer(PUBLIC_TOKEN, DoubleItem("item-1", [account(1)]))
    bearer = client_of(user).credentials["Authorization"].split()[1]
    answers = at_once(*[lambda: exchange(ApiClient(bearer=bearer), user)] * 6)
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 5
    (stored,) = BankItem.objects.all()
    if provider == "plaid":
        assert list(plaid.items) == [stored.access_token]
    else:
        assert SandboxItem.objects.get().access_digest == digest_of(stored.access_token)


def test_items_at_once_are_all_stored_and_no_token_is_orphaned(committed, needs_postgresql, user, plaid):
    for number in range(4):
        plaid.offer(f"public-double-{number}", DoubleItem(f"item-{number}", [account(1, item=f"item-{number}")]))
    bearer = client_of(user).credentials["Authorization"].split()[1]
    tokens = [f"public-double-{number}" for number in range(4)]
    answers = at_once(*[partial(exchange, ApiClient(bearer=bearer), user, token) for token in tokens])
    assert [answer.status_code for answer in answers] == [200] * 4
    assert {item.access_token for item in BankItem.objects.all()} == set(plaid.items)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods_are_not_taken(api, method):
    assert_error(api.call(method, PATH), 405, "E4050")
