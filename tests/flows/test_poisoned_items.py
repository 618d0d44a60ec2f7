"""Test that a failing item does not stop its worker, is retried with growing delays, and is listed."""

import json
from datetime import timedelta
from hashlib import sha256
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from config.api.models import RateCounter
from config.clients.provider import ProviderAnswer, ProviderError
from config.core.leases import contain
from config.core.lifecycle import Actor
from config.mail.models import SENT
from config.ops import checks, metrics, pruning
from config.ops.failed_items import FailedItems
from config.ops.models import FailedItem, WorkMark
from config.sandbox import clock
from config.webhooks.models import Event
from credit.anchoring import record_keys
from credit.anchoring import services as anchoring
from credit.applications import services as applications
from credit.models import Application, Clock, Counteroffer, DecisionAnchor, Notice, Report, Score
from credit.notices import services as notices
from credit.review import automatic
from credit.scoring import facts_of
from credit.terms import counteroffers
from identity.access import keys
from identity.bank import services as bank
from identity.kyc import services as kyc
from identity.models import ApiKey, BankItem
from payments.cards import reconciliation
from payments.cards.models import Payment, ProcessorEvent
from payments.crypto import settlement
from payments.crypto.models import CryptoPayment
from staging import services as staging
from staging.models import StagedItem
from tests.credit.notices.world import World
from tests.credit.scoring.submitting import SAYS_GOOD, scored_offer
from tests.credit.scoring.test_decide_applications import scored
from tests.factories import ApplicationFactory, StagedItemFactory
from tests.identity.banking import age, row_of, start
from tests.identity.test_bankdata_exchange import exchange
from tests.payments.card_support import process
from tests.payments.crypto_support import confirm, initiate, stored
from tests.payments.wallet_support import connected

pytestmark = pytest.mark.django_db


@pytest.fixture
def raise_for_row(monkeypatch):
    """Make a function of a module raise for the row with a key, or for a batch that contains the row."""

    def is_row(value, key):
        if isinstance(value, list | tuple):
            return any(is_row(each, key) for each in value)
        return key in {str(value), str(getattr(value, "pk", ""))}

    def poison_function(module, name, key):
        function = getattr(module, name)

        def poisoned(*args, **options):
            if any(is_row(value, str(key)) for value in (*args, *options.values())):
                raise ZeroDivisionError("Ada Lovelace")
            return function(*args, **options)

        poisoned.__name__ = name
        monkeypatch.setattr(module, name, poisoned)

    return poison_function


def listed(kind):
    """Return key, error, and number of failures of each failed item of a kind."""
    rows = FailedItem.objects.filter(kind=kind)
    assert all(row.retry_at > row.last_failed_at for row in rows)
    return [(row.key, row.error, row.failures) for row in rows]


FAILED = {
    "anchor_decisions": "records could not be anchored",
    "decide_applications": "applications could not be decided",
    "expire_applications": "applications or counteroffers failed",
    "issue_notices": "notices or deadlines failed",
    "prune": "rules, tasks, or rows failed",
    "reconcile_payments": "payments or events failed",
    "stage_bank_accounts": "bank items failed",
}


def passing(command):
    """Run a command; it succeeds if no poisoned item is due."""
    once = {} if command in {"prune", "expire_applications", "stage_bank_accounts"} else {"once": True}
    call_command(command, as_json=True, stdout=StringIO(), **once)


def failing(command, kind=None, key=None, count=1):
    """Run a command; check that it reports the number of failed items, and lists the poisoned item of a kind."""
    with pytest.raises(CommandError, match=f"{count} {FAILED[command]}"):
        passing(command)
    assert not WorkMark.objects.exists()
    assert kind is None or listed(kind) == [(str(key), "ZeroDivisionError", 1)]


class Killed(BaseException):
    """Simulates SIGKILL: no code after it runs."""


def killed(monkeypatch, module, name, key, run):
    """Kill `run(now)` three times while `module.name` processes the row with `key`; return when the leases have ended.

    Each later run begins when the lease of the previous run has ended.
    """
    function, now = getattr(module, name), timezone.now()

    for _ in range(3):
        with monkeypatch.context() as patched:

            def kill(row, *arguments, patched=patched, **options):
                rows = row if isinstance(row, list) else [row]
                if key in {getattr(each, "pk", each) for each in rows}:
                    patched.setattr(FailedItems, "end", lambda _items, _marks: None)
                    raise Killed
                return function(row, *arguments, **options)

            patched.setattr(module, name, kill)
            with pytest.raises(Killed):
                run(now=now)
        now += timedelta(minutes=11)
    return now


def two_rejected(settings):
    settings.REVIEW_POLICY = "reviewed"
    settings.NOTICE_CHANNELS = ["portal", "email"]
    first = World()
    second = World(first.offer)
    for world in (first, second):
        world.submit(0)
        world.reject(5)
    Notice.objects.update(look_at=timezone.now() - timedelta(minutes=1))
    Clock.objects.update(overdue_told_at=timezone.now())
    return first, second


def test_failing_notice_does_not_stop_other_notices_from_being_issued(settings, raise_for_row):
    poisoned, good = two_rejected(settings)
    raise_for_row(notices, "gather", poisoned.notice.pk)
    failing("issue_notices", "notice", poisoned.notice.pk)
    assert (good.notice.status, poisoned.notice.status, poisoned.notice.waits_for) == ("ready", "due", "fault")
    passing("issue_notices")


def test_notice_that_kills_three_processes_becomes_a_dead_letter(settings, monkeypatch):
    poisoned, good = two_rejected(settings)
    # The worker processes the poisoned notice first.
    Notice.objects.filter(pk=poisoned.notice.pk).update(look_at=timezone.now() - timedelta(hours=1))
    now = killed(monkeypatch, notices, "gather", poisoned.notice.pk, notices.issue_due)
    assert notices.issue_due(now=now)["errors"] == 0
    assert (good.notice.status, poisoned.notice.status) == ("ready", "due")
    row = FailedItem.objects.get(kind="notice")
    assert (row.key, row.kills, row.dead_at is not None) == (str(poisoned.notice.pk), 3, True)


def test_failing_notice_mail_does_not_block_other_notices(settings, raise_for_row):
    poisoned, good = two_rejected(settings)
    notices.issue_due(now=timezone.now())
    mail = notices.queue_mail("a@b.example", "notice", {"link": "x"}, language="en", now=timezone.now())
    other = notices.queue_mail("a@b.example", "notice", {"link": "x"}, language="en", now=timezone.now())
    Notice.objects.filter(pk=poisoned.notice.pk).update(mail=mail)
    Notice.objects.filter(pk=good.notice.pk).update(mail=other)
    type(mail).objects.update(status=SENT, due_at=None)
    raise_for_row(notices, "_after_mail", poisoned.notice.pk)
    failing("issue_notices")
    assert (good.notice.status, poisoned.notice.status) == ("delivered", "ready")
    assert [key for key, *_ in listed("notice_mail")] == [str(poisoned.notice.pk)]


def test_failing_notice_clock_does_not_stop_reports_of_other_overdue_notices(settings, raise_for_row):
    poisoned, good = two_rejected(settings)
    past = timezone.now() - timedelta(days=1)
    Clock.objects.update(overdue_told_at=None, stopped_at=None, due_at=past)
    row = Clock.objects.filter(application=poisoned.pk).first()
    Clock.objects.exclude(pk=row.pk).filter(application=poisoned.pk).update(stopped_at=past)
    raise_for_row(notices, "_report_overdue", row.pk)
    failing("issue_notices")
    assert Event.objects.filter(type="notice.overdue").count() == Clock.objects.filter(application=good.pk).count() > 0
    assert [key for key, *_ in listed("notice_clock")] == [str(row.pk)]


def test_failing_automatic_decision_is_listed_and_other_decisions_succeed(settings, raise_for_row):
    settings.DECISIONING, settings.REVIEW_POLICY = "automatic", "reviewed"
    offer = scored_offer()[0]
    poisoned, good = scored(offer, SAYS_GOOD), scored(offer, SAYS_GOOD)
    raise_for_row(automatic, "_decide", poisoned.pk)
    failing("decide_applications", "automatic_decision", poisoned.pk)
    assert Application.objects.get(pk=good.pk).status == "approved"
    passing("decide_applications")


def test_failing_pending_score_does_not_stop_other_scores(raise_for_row):
    now, offer = timezone.now(), scored_offer()[0]
    about = {"offer_id": offer.pk, "provider_id": int(offer.provider_id), "offer_snapshot": offer.terms()}
    poisoned, good = (
        ApplicationFactory(status="submitted", submitted_at=now, application_data=SAYS_GOOD, **about) for _ in range(2)
    )
    report = {"kind": "credit", "applicant": 1, "purpose": "credit_transaction", "vendor": "v", "person": "p"}
    for application in (poisoned, good):
        Report.objects.create(
            application=application, status="failed", score_waits=True, requested_at=now, look_at=now, **report
        )
    raise_for_row(facts_of, "_score", poisoned.pk)
    failing("decide_applications", "waiting_score", poisoned.pk)
    assert Score.objects.get().application_id == good.pk
    passing("decide_applications")


def test_failing_application_expiry_does_not_stop_other_expiries(raise_for_row):
    long_ago = timezone.now() - timedelta(days=400)
    poisoned, good = (ApplicationFactory(status="draft", updated_at=long_ago) for _ in range(2))
    raise_for_row(applications, "_expire", poisoned.pk)
    failing("expire_applications", "idle_application", poisoned.pk)
    assert Application.objects.get(pk=good.pk).status == "expired"
    passing("expire_applications")


def test_failing_counteroffer_expiry_does_not_stop_other_expiries(settings, raise_for_row):
    settings.REVIEW_POLICY = "open"
    first, now = World(), timezone.now()
    metadata = {
        "terms": {"amount_cents": 500_000, "rate_percent": 9, "term_months": 24}, "reasons": ["income_insufficient"],
        "expires_at": f"{now.date() + timedelta(days=9)}T00:00:00Z",
    }  # fmt: skip
    for world in (first, World(first.offer)):
        Application.objects.filter(pk=world.pk).update(status="under_review", created_at=now, updated_at=now)
        with counteroffers.transaction.atomic():
            counteroffers.make(world.application, metadata, actor=world.lender, changed_by="x", now=now)
    poisoned, good = Counteroffer.objects.order_by("id")
    Counteroffer.objects.update(expires_at=now - timedelta(hours=1))
    raise_for_row(counteroffers, "_expire", poisoned.pk)
    failing("expire_applications", "counteroffer", poisoned.pk)
    assert Counteroffer.objects.get(pk=good.pk).outcome == "expired"


def test_failing_verification_expiry_does_not_stop_other_expiries(api, stranger_api, raise_for_row):
    poisoned, good = start(api), start(stranger_api)
    for shown in (poisoned, good):
        age(shown["verification_id"], expires_at=timedelta(hours=25))
    raise_for_row(kyc, "_expire", poisoned["verification_id"])
    failing("prune", "verification", poisoned["verification_id"])
    assert row_of(good).status == "expired"


def test_row_that_prune_cannot_delete_does_not_stop_the_deletion_of_other_rows(raise_for_row):
    poisoned, good = (RateCounter.objects.create(bucket=name, window=1, used=1) for name in "ab")
    raise_for_row(pruning, "_delete", poisoned.pk)
    failing("prune", "prune", f"rate_counters {poisoned.pk}")
    assert list(RateCounter.objects.all()) == [poisoned]
    assert not RateCounter.objects.filter(pk=good.pk).exists()


@pytest.mark.parametrize("what", ["prune_rules", "prune_tasks"])
def test_failing_prune_rule_or_task_does_not_stop_other_rules(monkeypatch, what):
    RateCounter.objects.create(bucket="a", window=1, used=1)

    def broken(*_args, **_options):
        raise ZeroDivisionError

    first = ("broken", broken) if what == "prune_rules" else broken
    declared = pruning.declared
    monkeypatch.setattr(pruning, "declared", lambda name: [first, *declared(name)] if name == what else declared(name))
    failing("prune", "prune", "broken")
    assert not RateCounter.objects.exists()
    monkeypatch.undo()
    passing("prune")
    assert listed("prune") == []


def two_old_items():
    return [StagedItemFactory(staged_at=timezone.now() - timedelta(days=400)) for _ in range(2)]


def test_failing_staged_item_expiry_does_not_stop_other_expiries(raise_for_row):
    poisoned, good = two_old_items()
    raise_for_row(staging, "_decide", poisoned.pk)
    failing("prune", "staged_item", poisoned.pk)
    assert StagedItem.objects.get(pk=good.pk).status == "expired"


def test_staged_item_that_kills_three_processes_becomes_a_dead_letter(monkeypatch):
    poisoned, good = two_old_items()
    now = killed(monkeypatch, staging, "_decide", poisoned.pk, staging.expire_staged)
    staging.expire_staged(now=now)
    assert [StagedItem.objects.get(pk=item.pk).status for item in (poisoned, good)] == ["staged", "expired"]
    row = FailedItem.objects.get()
    assert (row.kind, row.key, row.kills, row.dead_at) == ("staged_item", str(poisoned.pk), 3, now)


def test_failing_api_key_expiry_event_does_not_stop_other_expiry_events(user, raise_for_row):
    now = timezone.now()
    poisoned, good = (keys.create_api_key(owner=user, name=name, scopes=None, now=now).record for name in "xy")
    ApiKey.objects.update(expires_at=now + timedelta(days=1))
    raise_for_row(keys, "_record_event", poisoned.pk)
    failing("prune", "api_key", poisoned.pk)
    assert ApiKey.objects.get(expiry_announced_at__isnull=False).pk == good.pk


def test_failing_bank_item_does_not_stop_staging_and_removal_of_other_items(
    api, user, stranger_api, stranger, raise_for_row
):
    exchange(api, user, "public-sandbox-1")
    exchange(stranger_api, stranger, "public-sandbox-2")
    poisoned, good = BankItem.objects.order_by("pk")
    BankItem.objects.update(accounts_staged_at=None)
    raise_for_row(bank, "_stage_accounts", poisoned.pk)
    failing("stage_bank_accounts", "bank_item", poisoned.pk)
    assert BankItem.objects.get(accounts_staged_at__isnull=False).pk == good.pk
    passing("stage_bank_accounts")
    BankItem.objects.update(unlinked_at=timezone.now())
    raise_for_row(bank, "_remove", poisoned.pk)
    failing("stage_bank_accounts", "unlinked_bank_item", poisoned.pk)
    assert list(BankItem.objects.all()) == [poisoned]


def two_unknown_payments(api, user):
    for _ in range(2):
        process(api, user, key=True, payment_method_id="pm_sandbox_timeout")
    return Payment.objects.order_by("pk")


def test_failing_payment_does_not_stop_other_reconciliations(api, user, raise_for_row):
    poisoned, good = two_unknown_payments(api, user)
    Payment.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    raise_for_row(reconciliation.card, "charge_or_find", poisoned.pk)
    failing("reconcile_payments", "payment", poisoned.pk)
    assert Payment.objects.get(pk=good.pk).status == "Completed"
    Payment.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    passing("reconcile_payments")


def test_failing_processor_event_does_not_stop_other_events(api, user, raise_for_row):
    poisoned, good = two_unknown_payments(api, user)
    Payment.objects.update(due_at=timezone.now() + timedelta(days=9))
    for payment in (poisoned, good):
        pk = payment.pk
        detail = {"intent": f"pi_{pk}", "amount": payment.amount_cents, "currency": "usd", "payment_id": str(pk)}
        ProcessorEvent.objects.create(
            id=f"evt_{pk}", type="payment_intent.succeeded", received_at=timezone.now(), detail=detail
        )
    raise_for_row(reconciliation, "apply", f"evt_{poisoned.pk}")
    failing("reconcile_payments", "processor_event", f"evt_{poisoned.pk}")
    assert Payment.objects.get(pk=good.pk).status == "Completed"


def two_submitted(api, user):
    wallet = connected(user)
    result = [stored(initiate(api, user, wallet).json()["payment_id"]) for _ in range(2)]
    for number, payment in enumerate(result):
        confirm(api, payment.pk, f"0x1{number}")
    return result


def test_failing_crypto_payment_does_not_stop_other_settlements(api, user, raise_for_row):
    poisoned, good = two_submitted(api, user)
    raise_for_row(settlement, "_process", poisoned.pk)
    failing("reconcile_payments", "crypto_payment", poisoned.pk)
    assert stored(good.pk).status == "confirmed"
    passing("reconcile_payments")


@pytest.mark.parametrize("word", ["unreadable", "timeout"])
def test_crypto_payment_that_the_node_does_not_report_does_not_block_other_payments(api, user, monkeypatch, word):
    poisoned, good = two_submitted(api, user)
    process = settlement._process

    def fails(payment, **options):
        if payment.pk == poisoned.pk:
            raise settlement.ProviderError(word, outcome_unknown=True)
        return process(payment, **options)

    monkeypatch.setattr(settlement, "_process", fails)
    for _ in range(2):
        settlement.settle_crypto(now=timezone.now())
        CryptoPayment.objects.filter(look_at__isnull=False).update(look_at=timezone.now() - timedelta(seconds=1))
    assert stored(good.pk).status == "confirmed"


class TestRecords:
    """Records to anchor; a function stands for the ledger."""

    @pytest.fixture
    def records(self, settings, monkeypatch):
        """Return three decisions of one request; `refused` maps record hashes to the ledger's errors."""
        settings.ANCHOR_DECISIONS, settings.REVIEW_POLICY = True, "open"
        now = timezone.now() - timedelta(minutes=1)
        for _ in range(3):
            application = ApplicationFactory(status="under_review", created_at=now, updated_at=now)
            with applications.transaction.atomic():
                actor = Actor(user=application.consumer, credential="jwt")
                application.transition_to("rejected", actor=actor, changed_by="x", now=now)
        record_keys.announce(now=now)
        self.refused = {}
        monkeypatch.setattr(anchoring, "_ask", self.ask)
        return list(DecisionAnchor.objects.filter(history__isnull=False).order_by("id"))

    def ask(self, _method, path, _request_id, **sent):
        if path == "/anchor/batch":
            hashes = [sha256(item["report_data"].encode()).hexdigest() for item in sent["json"]["items"]]
            if words := [self.refused[digest] for digest in hashes if digest in self.refused]:
                raise ProviderError(words[0], outcome_unknown=True)
            body = {"results": [{"hash": entry, "nonce": "0" * 32, "index": 1, "block_number": 1} for entry in hashes]}
        else:
            body = {"timestamp": "2026-01-31T00:00:00Z"}
        return ProviderAnswer(200, {}, json.dumps(body).encode())

    def anchored(self, records):
        return [DecisionAnchor.objects.get(pk=record.pk).anchored_at is not None for record in records]

    @pytest.mark.parametrize("record", ["[]", "no JSON", "{}"])
    def test_unreadable_record_does_not_stop_anchoring_of_other_records(self, records, record):
        DecisionAnchor.objects.filter(pk=records[0].pk).update(record=record)
        failing("anchor_decisions")
        assert self.anchored(records) == [False, True, True]
        assert [key for key, *_ in listed("record")] == [str(records[0].pk)]

    @pytest.mark.parametrize("word", ["status 400", "contradiction"])
    def test_record_rejected_by_the_ledger_does_not_stop_other_records_of_its_batch(self, records, word):
        self.refused[records[1].record_sha256] = word
        failing("anchor_decisions")
        assert self.anchored(records) == [True, False, True]
        assert listed("record") == [(str(records[1].pk), "ProviderError", 1)]
        assert DecisionAnchor.objects.get(pk=records[1].pk).last_error == word

    def test_unreachable_ledger_does_not_mark_records_as_failed(self, records):
        self.refused = dict.fromkeys([record.record_sha256 for record in records], "connect")
        # There are three records, and one record about the key.
        failing("anchor_decisions", count=4)
        assert listed("record") == []
        assert {delivery.attempts for delivery in DecisionAnchor.objects.filter(history__isnull=False)} == {1}

    def test_failing_record_key_does_not_stop_the_anchoring_of_records(self, records, raise_for_row):
        record_keys.rotate(now=timezone.now())
        DecisionAnchor.objects.filter(record_key=2).delete()
        raise_for_row(record_keys, "announce_key", 2)
        failing("anchor_decisions")
        assert self.anchored(records) == [True, True, True]
        assert listed("record_key") == [("2", "ZeroDivisionError", 1)]


@pytest.mark.parametrize(("sqlstate", "is_own"), [("55P03", True), ("57014", True), ("57P01", False), ("40P01", False)])
def test_lock_and_statement_timeouts_count_as_item_failures(sqlstate, is_own):
    error = OperationalError("x")
    error.__cause__ = type("DriverError", (Exception,), {"sqlstate": sqlstate})()
    if is_own:
        assert contain(error, "payment", 1) == "OperationalError"
    else:
        with pytest.raises(OperationalError):
            contain(error, "payment", 1)


def test_failing_sandbox_worker_does_not_stop_other_workers(monkeypatch):
    def broken(*, now):
        raise ZeroDivisionError(now)

    monkeypatch.setattr(clock, "declared", lambda _name: [broken, lambda now: {"worked": 1}])  # noqa: ARG005
    assert clock.run_workers(now=timezone.now())["worked"] == 1


def test_doctor_reports_a_failing_check_and_runs_the_remaining_checks(monkeypatch):
    def check_broken(**_options):
        raise KeyError("Ada Lovelace")

    tagged = checks._tagged
    monkeypatch.setattr(checks, "_tagged", lambda tag: [check_broken, *tagged(tag)])
    first, *others = checks.examine()
    assert (first["ok"], first["why"]) == (False, "the check failed: KeyError")
    assert any(check["ok"] for check in others)


def test_failing_metric_does_not_hide_other_metrics(monkeypatch):
    def broken(*, using, now):
        raise KeyError(using, now)

    measures = metrics.measures()
    monkeypatch.setattr(metrics, "measures", lambda: [("default", broken), *measures])
    assert metrics._read("default")
