"""The vendor of reports in the sandbox. The last word of the legal name determines the result."""

from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from config.clients.provider import ProviderError
from config.core.json_text import canonical_json
from credit.models.reports import FROZEN, INCOME, NO_FILE, RECEIVED
from credit.reports.vendor import PENDING, ReportRequest, UnknownReport, VendorReport

SLOW = timedelta(seconds=30)
_AGENCY = {
    "name": "Sandbox Bureau", "address": "1 Sandbox Way, Austin, TX 78701", "phone": "+1 800 555 0100",
    "website": "https://bureau.example",
}  # fmt: skip
_FACTORS = {
    "thick": ["Proportion of balances to credit limits is high", "Number of recent inquiries"],
    "thin": ["Length of time accounts have been established", "Too few accounts"],
}
# The values are score, obligations, delinquencies, inquiries, months since the oldest account, and income.
_FIGURES = {"thick": (724, 45_000, 0, 1, 148, 520_000), "thin": (611, 12_000, 1, 5, 7, 240_000)}
CASES = {
    "Thickfile": "thick", "Thinfile": "thin", "Nofile": "absent", "Frozen": "frozen", "Slow": "slow", "Broken": "broken"
}  # fmt: skip


class SandboxVendor:
    """The built-in vendor. The class stores the latest request IDs in memory.

    Another process does not know these IDs, so the platform requests the report again.
    """

    name = "sandbox"
    _known: deque[str] = deque(maxlen=1_000)

    def request(self, request: ReportRequest) -> VendorReport:
        self._known.append(request.id)
        case = _case_of(request)
        if case == "broken":
            raise ProviderError("unreadable", outcome_unknown=False)
        if case == "slow":
            if timezone.now() - request.requested_at < SLOW:
                return VendorReport(PENDING)
            case = "thick"
        if case in {"absent", "frozen"}:
            outcome = {"absent": (NO_FILE, "No file"), "frozen": (FROZEN, "The file is frozen")}[case]
            return VendorReport(outcome[0], {"agency": _AGENCY, "result": outcome[1]}, request.requested_at.date())
        return _report(case, request)

    def result(self, request: ReportRequest) -> VendorReport:
        if request.id not in self._known or _case_of(request) == "broken":
            raise UnknownReport
        return self.request(request)

    def sandbox_cases(self) -> Mapping[str, Mapping[str, Any]]:
        address = {"line1": "1 Main St", "city": "Austin", "region": "TX", "postal_code": "78701", "country": "US"}
        return {
            case: {"legal_name": f"Ana {name}", "date_of_birth": "1990-04-05", "address": address}
            for name, case in CASES.items()
            if case != "broken"
        }


def _case_of(request: ReportRequest) -> str:
    words = str(request.person["legal_name"]).split()
    return CASES.get(words[-1] if words else "", "thick")


def _report(case: str, request: ReportRequest) -> VendorReport:
    score, obligations, delinquencies, inquiries, months, income = _FIGURES[case]
    summary: dict[str, Any] = {"agency": _AGENCY, "result": f"A {case} file"}
    if request.kind == INCOME:
        summary |= {"income_monthly_cents": income, "categories": ["payroll"]}
    else:
        summary |= {
            "score": {
                "value": score, "min": 300, "max": 850, "factors": _FACTORS[case], "supplier": "Sandbox Scores",
                "ranks_above_percent": 60 if case == "thick" else 20,
            },
            "obligations_monthly_cents": obligations,
            "delinquencies_24_months": delinquencies,
            "inquiries_6_months": inquiries,
            "oldest_account_months": months,
            "categories": ["accounts", "inquiries"],
        }  # fmt: skip
    raw = canonical_json({"id": request.id, **summary}).decode()
    return VendorReport(RECEIVED, summary, request.requested_at.date(), raw)
