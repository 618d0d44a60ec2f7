"""`manage.py reconcile_payments`: what nobody came back for is finished."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from payments.cards.models import Payment, SandboxCharge
from tests.payments.card_support import only_payment, process


def reconcile():
    out = StringIO()
    call_command("reconcile_payments", once=True, as_json=True, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def test_a_charge_whose_answer_was_lost_is_completed(db, api, user, key):
    process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert reconcile()["completed"] == 1
    assert only_payment().status == "Completed"
    replay = process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert (replay.status_code, replay.headers["Idempotent-Replayed"]) == (200, "true")
    assert reconcile()["completed"] == 0
    assert SandboxCharge.objects.count() == 1


def test_an_uncharged_payment_fails(db, api, user, key):
    process(api, user, key=key, payment_method_id="pm_sandbox_error")
    assert reconcile()["failed"] == 1
    assert (only_payment().status, only_payment().failure) == ("Failed", "not_charged")
    assert not SandboxCharge.objects.exists()


@pytest.mark.parametrize("status", ["Pending", "Processing"])
def test_a_leased_payment_is_skipped_until_the_lease_ends(db, api, user, status):
    process(api, user)
    now = timezone.now()
    Payment.objects.update(status=status, transaction_id=None, processed_at=None, due_at=now + timedelta(seconds=60))
    assert reconcile()["completed"] == 0
    Payment.objects.update(due_at=now - timedelta(seconds=1))
    assert reconcile()["completed"] == 1
    assert SandboxCharge.objects.count() == 1


def test_a_payment_without_a_key_is_finished_too(db, api, user):
    process(api, user, payment_method_id="pm_sandbox_timeout")
    assert reconcile()["completed"] == 1
