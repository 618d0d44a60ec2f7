"""Test that `check_vendor` passes the sandbox report adapter, and names each fault of an adapter."""

import json
from dataclasses import replace
from datetime import datetime

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from credit.reports.checking import check_vendor
from credit.reports.sandbox import SandboxVendor
from credit.reports.vendor import VendorReport

AGENCY = {"name": "A", "address": "1 St", "phone": "1"}
PLACE = "credit.reports.sandbox:SandboxVendor"


class NeedsKey:
    def __init__(self):
        raise KeyError("BUREAU_KEY")


def test_sandbox_report_vendor_passes_every_check(capsys):
    call_command("check_vendor", PLACE, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"passed": 47, "failed": 0}


@pytest.mark.parametrize(("place", "message"), [
    ("nothing", "must be"), ("no.module:Class", "ModuleNotFoundError"), ("credit.reports.sandbox:None_", "ImportError"),
    ("credit.reports.sandbox:CASES", "TypeError"), (f"{__name__}:NeedsKey", "BUREAU_KEY"),
])  # fmt: skip
def test_check_vendor_rejects_an_adapter_that_fails_to_load(place, message):
    with pytest.raises(CommandError, match=message):
        call_command("check_vendor", place)


def changed(**columns):
    return lambda answer: replace(answer, **columns) if answer.status == "received" else answer


# Each fault has a method, the change of its result, the failing check, and the message.
FAULTS = {
    "no cases": ("sandbox_cases", lambda _: None, "sandbox_cases", "must be a mapping with thick"),
    "cases in a list": ("sandbox_cases", lambda cases: list(cases.values()), "sandbox_cases", "must be a mapping"),
    "a case too few": (
        "sandbox_cases", lambda cases: {name: cases[name] for name in cases if name != "frozen"}, "sandbox_cases",
        "must be a mapping"),
    "cases that raise": ("sandbox_cases", lambda _: 1 / 0, "sandbox_cases", "raised ZeroDivisionError"),
    "another result": ("request", lambda _: {"status": "received"}, "thick credit: request", "must return"),
    "one status for all": ("request", lambda _: VendorReport("failed"), "thin income: request", "not 'failed'"),
    "no summary": ("request", changed(summary=None), "thick credit: request", "summary must be an object"),
    "a figure as text": (
        "request", changed(summary={"agency": {}, "obligations_monthly_cents": "450"}), "thick credit: request",
        "obligations_monthly_cents must be a whole number"),
    "no agency": ("request", changed(summary={"agency": {}}), "thick credit: request", "agency.name: Must be a string"),
    "no phone": (
        "request", changed(summary={"agency": {"name": "A", "address": "1 St"}}), "thick credit: request",
        "agency.phone: Must be a string"),
    "a score without its range": (
        "request", changed(summary={"agency": AGENCY, "score": {"value": 700, "factors": ["x"]}}),
        "thick credit: request", "score.min and score.max: Must be the lowest"),
    "a score above its range": (
        "request", changed(summary={"agency": AGENCY, "score": {"value": 900, "min": 300, "max": 850}}),
        "thick credit: request", "score.value: Must be within"),
    "a score without factors": (
        "request", changed(summary={"agency": AGENCY, "score": {"value": 700, "min": 300, "max": 850}}),
        "thick credit: request", "score.factors: Must be a list"),
    "raw as bytes": ("request", changed(raw=b"{}"), "thick credit: request", "raw must be a string"),
    "raw of 2 MiB": ("request", changed(raw="é" * 1024 * 1024), "thick credit: request", "raw must be a string"),
    "a moment as day": ("request", changed(as_of=timezone.now()), "thick credit: request", "as_of must be a date"),
    "no day": ("request", changed(as_of=None), "thick credit: request", "as_of must be a date"),
    "a naive end": (
        "request", changed(expires_at=datetime(2099, 1, 1)), "thick credit: request",  # noqa: DTZ001  the fault
        "expires_at must be a datetime with a time zone"),
}  # fmt: skip


def test_vendor_check_fails_for_an_adapter_that_returns_a_report_for_an_unknown_id(monkeypatch):
    monkeypatch.setattr(SandboxVendor, "result", SandboxVendor.request)
    faults = [fault for check, fault in check_vendor(SandboxVendor()) if check.endswith("result of an unknown id")]
    assert faults == ["must raise UnknownReport"] * 5


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_report_vendor_adapter_fails_the_matching_check(fault, monkeypatch):
    method, change, check, message = FAULTS[fault]
    original = getattr(SandboxVendor, method)
    monkeypatch.setattr(SandboxVendor, method, lambda *arguments: change(original(*arguments)))
    assert message in dict(check_vendor(SandboxVendor()))[check]
