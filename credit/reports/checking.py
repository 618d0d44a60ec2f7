"""Check an adapter against the vendor's sandbox."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils import timezone

from config.core.adapters import attempt
from config.core.ids import uuid7
from credit.core.report_summary import checked_dates, checked_raw, checked_summary
from credit.models.reports import FROZEN, KINDS, NO_FILE, RECEIVED
from credit.reports.vendor import CASES, PENDING, ReportRequest, ReportVendor, UnknownReport, VendorReport

_STATUS = {"thick": RECEIVED, "thin": RECEIVED, "absent": NO_FILE, "frozen": FROZEN, "slow": PENDING}
_REPEATS = 2

Line = tuple[str, str]


def check_vendor(vendor: ReportVendor) -> Iterator[Line]:
    """Yield each check and its error, which is "" if the check passes. An exception of the adapter is an error."""
    name = getattr(vendor, "name", None)
    yield "name", "" if isinstance(name, str) and 0 < len(name) <= 64 else "must be a string of 1 to 64 characters"
    cases, fault = attempt(vendor.sandbox_cases)
    if not fault and not (isinstance(cases, Mapping) and set(cases) == set(CASES)):
        fault = f"must be a mapping with {', '.join(CASES)}"
    yield "sandbox_cases", fault
    if not isinstance(cases, Mapping):
        return
    for case in CASES:
        yield from _check_case(vendor, case, cases.get(case))


def _check_case(vendor: ReportVendor, case: str, person: Mapping[str, Any] | None) -> Iterator[Line]:
    if person is None:
        return
    for kind in KINDS:
        request = ReportRequest(str(uuid7()), kind, "credit_transaction", timezone.now(), person)
        answer, fault = attempt(vendor.request, request)
        yield f"{case} {kind}: request", fault or _fault_of(answer, _STATUS[case])
        if fault:
            continue
        for _ in range(_REPEATS):
            again, fault = attempt(vendor.request, request)
            yield f"{case} {kind}: repeated request", fault or _difference(answer, again)
        later, fault = attempt(vendor.result, request)
        yield f"{case} {kind}: result", fault or _difference(answer, later)
    unknown = replace(request, id=str(uuid7()))
    _, fault = attempt(vendor.result, unknown)
    is_right = fault.startswith(f"raised {UnknownReport.__name__}")
    yield f"{case}: result of an unknown id", "" if is_right else fault or "must raise UnknownReport"


def _fault_of(answer: Any, status: str) -> str:
    if not isinstance(answer, VendorReport):
        return "must return a VendorReport"
    if answer.status != status:
        return f"status must be {status!r}, not {answer.status!r}"
    if status == PENDING:
        return ""
    try:
        checked_summary(answer.summary)
        checked_raw(answer.raw)
        checked_dates(answer.as_of, answer.expires_at)
    except (ValueError, TypeError, AttributeError) as error:
        return str(error)
    return ""


def _difference(first: Any, again: Any) -> str:
    if not (isinstance(first, VendorReport) and isinstance(again, VendorReport)):
        return "must return a VendorReport"
    same = (first.status, first.summary, first.raw) == (again.status, again.summary, again.raw)
    return "" if same else "must be the same report for the same ID"
