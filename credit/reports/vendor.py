"""The adapter protocol of report vendors. `docs/develop/vendors.md` describes how to write an adapter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol

from django.conf import settings

from config.core.adapters import load_adapter

PENDING = "pending"
CASES = ("thick", "thin", "absent", "frozen", "slow")


class UnknownReport(Exception):
    """The vendor has no request with this ID."""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A request for a report. `id` is the idempotency key. `person` is `{legal_name, date_of_birth, address}`."""

    id: str
    kind: str
    purpose: str
    requested_at: datetime
    person: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class VendorReport:
    """A vendor's response. `status` is `pending`, `received`, `no_file`, `frozen`, or `failed`.

    The statuses `received`, `no_file`, and `frozen` require a `summary`, which `checked_summary` validates. `raw` is
    the vendor's unchanged response. Without `expires_at`, the report expires after 30 days.
    """

    status: str
    summary: dict[str, Any] | None = field(default=None, repr=False)
    as_of: date | None = None
    raw: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None


class ReportVendor(Protocol):
    """The protocol of an adapter. For each request, the platform creates an instance without arguments.

    Each method can raise `ProviderError` from `config.clients.provider`. After an error with `outcome_unknown`, the
    platform calls `result` later.
    """

    name: str

    def request(self, request: ReportRequest) -> VendorReport:
        """Request a report. If an ID is repeated, the adapter must not order a second report."""

    def result(self, request: ReportRequest) -> VendorReport:
        """Return the report of an earlier request. Raises UnknownReport if the vendor does not know the request."""

    def sandbox_cases(self) -> Mapping[str, Mapping[str, Any]]:
        """Return a person from the vendor's sandbox for each case in CASES."""


def report_vendor() -> ReportVendor | None:
    """Return the vendor that `REPORTS` selects, or None if reports are off."""
    if settings.REPORTS == "off":
        return None
    place = "credit.reports.sandbox:SandboxVendor" if settings.REPORTS == "sandbox" else settings.REPORTS
    vendor: ReportVendor = load_adapter(place)
    return vendor
