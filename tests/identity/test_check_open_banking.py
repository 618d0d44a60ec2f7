"""Test that `check_vendor` passes the open banking sandbox, and reports each fault of an adapter."""

import json
from datetime import datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from identity.bank.checking import check_open_banking
from identity.providers.base import LinkToken, VerificationState
from identity.providers.sandbox import Sandbox

pytestmark = pytest.mark.django_db
PLACE = "identity.providers.sandbox:Sandbox"


def test_open_banking_sandbox_passes_every_vendor_check(capsys):
    call_command("check_vendor", PLACE, public_token="public-sandbox-check", as_json=True)
    counts = json.loads(capsys.readouterr().out)
    assert (counts["failed"], counts["passed"]) == (0, 19)


@pytest.mark.parametrize(("place", "token"), [(PLACE, None), ("credit.reports.sandbox:SandboxVendor", "x")])
def test_check_vendor_requires_a_public_token_only_for_open_banking(place, token):
    with pytest.raises(CommandError, match="--public-token is required for an adapter of open banking"):
        call_command("check_vendor", place, public_token=token)


def changed(rows, **values):
    return [{**rows[0], **values}, *rows[1:]]


def expired(_result):
    return LinkToken("x", timezone.now() - timedelta(hours=1))


# Each set of failed checks has the method whose result is changed, and the change.
FAULTS = {
    ("create_verification", "create_verification of the same user", "read_verification"): (
        "create_verification", lambda state: VerificationState("", state.progress, "", {}, None)),
    ("create_link_token", "create_link_token of an item"): ("create_link_token", expired),
    ("exchange_public_token of a wrong token", "exchange_public_token"): ("exchange_public_token", lambda _: None),
    ("list_accounts", "accounts of transactions"): ("list_accounts", lambda rows: changed(rows, account_id=None)),
    ("list_transactions",): ("list_transactions", lambda rows: changed(rows, amount_cents="10.25")),
    ("verify_event of a forged event",): ("verify_event", lambda _: None),
    ("remove_item", "remove_item of a removed item"): ("remove_item", lambda _: 1 / 0),
}  # fmt: skip


@pytest.mark.parametrize("checks", FAULTS, ids=lambda checks: checks[0])
def test_faulty_open_banking_adapter_fails_the_matching_check(checks, monkeypatch):
    method, change = FAULTS[checks]
    original = getattr(Sandbox, method)

    def broken(self, *arguments, **options):
        is_tried = method in {"exchange_public_token", "verify_event"}  # These methods raise an error in the sandbox.
        return change(None if is_tried else original(self, *arguments, **options))

    monkeypatch.setattr(Sandbox, method, broken)
    lines = list(check_open_banking(Sandbox(), "public-sandbox-check"))
    faulty = {what for what, fault in lines if fault}
    assert faulty <= set(checks)
    assert checks[0] in faulty


def test_open_banking_expiration_without_a_time_zone_fails_the_check(monkeypatch):
    naive = LinkToken("x", datetime(2099, 1, 1))  # noqa: DTZ001  the fault
    monkeypatch.setattr(Sandbox, "create_link_token", lambda *_arguments, **_options: naive)
    faults = dict(check_open_banking(Sandbox(), "public-sandbox-check"))
    assert faults["create_link_token"] == "expiration must be a future datetime with a time zone"
