"""Test that POST /v1/bankdata/exchange links a bank with the public token from Plaid Link."""

from datetime import timedelta
from functools import partial

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from config.core.digest import digest_of
from identity.bank import services
from identity.bank.models import BankItem, BankTransaction
from identity.providers import plaid as plaid_module
from identity.providers.models import SandboxItem
from staging.models import StagedItem
from tests.api import assert_error, client_of
from tests.identity.banking import events_of
from tests.identity.plaid_double import DoubleItem, Fault, account, booking
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db
PATH = "/bankdata/exchange"
PUBLIC_TOKEN = "public-sandbox-first"


def exchange(api, user, public_token=PUBLIC_TOKEN, **options):
    return api.send(PATH, {"user_id": str(user.pk), "public_token": public_token}, **options)


def test_public_token_exchange_links_a_bank_item_and_stages_its_accounts(api, user):
    response = exchange(api, user)
    assert response.status_code == 200
    shown = response.json()
    assert set(shown) == {"item_id", "linked", "staged_item_ids"}
    assert shown["linked"] is True
    item = BankItem.objects.get()
    assert (item.user, item.provider, item.item_id) == (user, "sandbox", shown["item_id"])
    assert item.accounts_staged_at is not None
    staged = StagedItem.objects.filter(user=user).order_by("id")
    assert [str(record.pk) for record in staged] == shown["staged_item_ids"]
    assert {(record.kind, record.status, record.source) for record in staged} == {
        (kind, "staged", f"bank:{shown['item_id']}") for kind in ("bank_account", "bank_transaction")
    }
    assert staged.filter(kind="bank_account").count() == 3
    assert item.access_token.startswith("access-sandbox-")
    assert item.access_token not in response.content.decode() + str(list(staged.values())) + str(events_of(user, ""))
    assert events_of(user, "bankdata.") == [
        ("bankdata.item.linked", {"item_id": shown["item_id"], "provider": "sandbox"})
    ]


def test_public_token_can_be_exchanged_only_once(api, user, stranger, stranger_api):
    assert exchange(api, user).status_code == 200
    for client, person in ((api, user), (stranger_api, stranger)):
        assert_error(exchange(client, person), 400, "E1001")
    assert BankItem.objects.count() == 1
    assert StagedItem.objects.filter(kind="bank_account").count() == 3
    assert not StagedItem.objects.exclude(user=user).exists()


def test_exchange_of_a_public_token_that_the_vendor_rejects_returns_400(api, user):
    for token in ("garbage", "public-sandbox-", "access-sandbox-demo", "public-production-x"):
        body = assert_error(exchange(api, user, token), 400, "E1001")
        assert body["details"][0]["field"] == "public_token"
        assert token not in str(body)
    assert BankItem.objects.count() == 0


def test_bank_link_calls_plaid_outside_of_database_transactions(committed, plaid, user, waiting_transactions, judge):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1), account(2)]))
    shown = exchange(client_of(user), user, "public-double-1").json()
    assert len(shown["staged_item_ids"]) == 2
    assert waiting_transactions == [False, False, False]
    assert BankItem.objects.get().access_token in plaid.items
    judge.judge(plaid.exchanges)


def booked(days_ago):
    return (timezone.now().date() - timedelta(days=days_ago)).isoformat()


def bookings_of(user):
    staged = StagedItem.objects.filter(user=user, kind="bank_transaction", status="staged").order_by("id")
    return [item.payload["transaction_id"] for item in staged]


def test_linking_a_bank_stages_90_days_of_posted_transactions(judged_plaid, api, user):
    days = [0, 1, 90, 91, 400]
    feed = [("added", booking(day, day=booked(day))) for day in days]
    feed.append(("added", booking(5, day=booked(5), pending=True)))
    judged_plaid.offer("public-double-1", DoubleItem("item-1", [account(1)], feed))
    shown = exchange(api, user, "public-double-1").json()
    assert len(shown["staged_item_ids"]) == 3
    assert bookings_of(user) == ["transaction-1", "transaction-90"]
    item = BankItem.objects.get()
    assert (item.transactions_since.isoformat(), item.transactions_staged) == (booked(90), 2)
    api.send("/staging/approve-all", {"user_id": str(user.pk)})
    reported = BankTransaction.objects.reported_by_provider()
    assert set(reported.values_list("item_id", "transaction_id")) == {
        ("item-1", f"transaction-{day}") for day in (1, 90)
    }


@pytest.mark.parametrize("status", ["NOT_READY", "INITIAL_UPDATE_COMPLETE", "TRANSACTIONS_UPDATE_STATUS_UNKNOWN"])
def test_stage_bank_accounts_command_stages_transactions_that_plaid_fetches_later(plaid, api, user, status):
    item = DoubleItem("item-1", [account(1)], [("added", booking(1, day=booked(1)))], update_status=status)
    plaid.offer("public-double-1", item)
    assert len(exchange(api, user, "public-double-1").json()["staged_item_ids"]) == 1
    assert BankItem.objects.get().transactions_since is None
    assert api.read(f"/bankdata/transactions/{user.pk}").json()["total"] == 1
    call_command("stage_bank_accounts")
    assert bookings_of(user) == []
    item.update_status = "HISTORICAL_UPDATE_COMPLETE"
    call_command("stage_bank_accounts")
    call_command("stage_bank_accounts")
    assert bookings_of(user) == ["transaction-1"]
    assert StagedItem.objects.filter(kind="bank_account").count() == 1


def test_stage_bank_accounts_command_stages_transactions_that_the_request_did_not_stage(plaid, api, user, monkeypatch):
    monkeypatch.setattr(services, "ITEMS_PER_STATEMENT", 2)
    feed = [("added", booking(number, day=booked(1))) for number in range(3)]
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)], feed))
    assert len(exchange(api, user, "public-double-1").json()["staged_item_ids"]) == 1
    call_command("stage_bank_accounts")
    assert len(bookings_of(user)) == 3


def test_bank_whose_transactions_load_slowly_is_linked_within_the_deadline(plaid, api, user, monkeypatch):
    monkeypatch.setattr(plaid_module, "TOTAL_SECONDS", 0.3)
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    plaid.fail("/transactions/sync", Fault(hold=True))
    assert len(exchange(api, user, "public-double-1").json()["staged_item_ids"]) == 1
    item = BankItem.objects.get()
    assert item.accounts_staged_at is not None
    assert item.transactions_since is None


def break_storing():
    """Make inserts of items fail as in a busy database; the rollback of the test's transaction reverts it."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("ALTER TABLE identity_bankitem RENAME TO identity_bankitem_gone")
            return
        cursor.execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
                       "BEGIN RAISE EXCEPTION 'busy' USING ERRCODE = '40001'; END $$")  # fmt: skip
        cursor.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON identity_bankitem FOR EACH ROW EXECUTE FUNCTION refuse()"
        )


def test_access_token_that_cannot_be_stored_is_revoked_at_plaid(judged_plaid, api, user):
    judged_plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    break_storing()
    assert_error(exchange(api, user, "public-double-1"), 503, "E5030")
    assert judged_plaid.items == {}
    assert len(judged_plaid.removed) == 1
    assert StagedItem.objects.count() == 0


def test_access_token_that_cannot_be_stored_is_revoked_at_the_sandbox(api, user):
    break_storing()
    assert_error(exchange(api, user), 503, "E5030")
    assert SandboxItem.objects.get().removed_at is not None


def test_log_about_an_access_token_that_could_not_be_stored_or_revoked_omits_the_token(plaid, api, user, caplog):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    plaid.fail("/item/remove", Fault(500, b"x"))
    break_storing()
    assert_error(exchange(api, user, "public-double-1"), 503, "E5030")
    (token,) = plaid.items
    assert "item item-1 could be neither stored nor removed at the vendor" in caplog.text
    assert token not in caplog.text


def test_exchange_for_a_bank_item_of_another_account_is_rejected(plaid, api, user, stranger, stranger_api):
    item = DoubleItem("item-1", [account(1)])
    plaid.offer("public-double-1", item)
    plaid.offer("public-double-2", item)
    assert exchange(stranger_api, stranger, "public-double-1").status_code == 200
    assert_error(exchange(api, user, "public-double-2"), 400, "E1001")
    assert BankItem.objects.get().user == stranger
    assert plaid.removed == []


def test_linking_a_bank_item_again_renews_its_access_token(plaid, api, user):
    item = DoubleItem("item-1", [account(1)])
    for number in (1, 2):
        plaid.offer(f"public-double-{number}", item)
        assert exchange(api, user, f"public-double-{number}").status_code == 200
    stored = BankItem.objects.get()
    assert stored.access_token == list(plaid.items)[-1]
    assert stored.token_fingerprint == digest_of(stored.access_token)


def test_bank_item_with_unreadable_accounts_is_linked(plaid, api, user):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    plaid.fail("/accounts/get", Fault(500, b"x"))
    assert exchange(api, user, "public-double-1").json() == {"item_id": "item-1", "linked": True, "staged_item_ids": []}
    assert BankItem.objects.get().accounts_staged_at is None


def test_exchange_during_a_vendor_failure_returns_502_and_links_nothing(plaid, api, user):
    plaid.fail("/item/public_token/exchange", Fault(500, b"x"))
    assert_error(exchange(api, user, "public-double-1"), 502, "E5003")
    assert BankItem.objects.count() == 0


@pytest.mark.parametrize("provider", ["sandbox", "plaid"])
def test_concurrent_uses_of_a_public_token_link_one_item(committed, needs_postgresql, user, plaid, settings, provider):
    settings.OPEN_BANKING = provider
    plaid.offer(PUBLIC_TOKEN, DoubleItem("item-1", [account(1)]))
    client = client_of(user)
    answers = run_concurrently(*[lambda: exchange(client, user)] * 6)
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 5
    (stored,) = BankItem.objects.all()
    if provider == "plaid":
        assert list(plaid.items) == [stored.access_token]
    else:
        assert SandboxItem.objects.get().access_digest == digest_of(stored.access_token)


def test_bank_items_linked_concurrently_are_all_stored(committed, needs_postgresql, user, plaid):
    for number in range(4):
        plaid.offer(f"public-double-{number}", DoubleItem(f"item-{number}", [account(1, item=f"item-{number}")]))
    client = client_of(user)
    answers = run_concurrently(*[partial(exchange, client, user, f"public-double-{number}") for number in range(4)])
    assert [answer.status_code for answer in answers] == [200] * 4
    assert {item.access_token for item in BankItem.objects.all()} == set(plaid.items)
