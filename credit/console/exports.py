"""Export applications with the list's columns, the terms, and the reasons for the decision."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from config.backoffice.consoles import VIEW, may, narrowed
from config.backoffice.exports import Exports
from config.backoffice.personal import MASK, mask
from config.core.casework import Assignment
from config.core.currencies import to_units
from config.core.encryption import readable
from config.core.table_files import CHUNK_ROWS
from credit.console.names import joined_names
from credit.core.figures import Figures, reference_of
from credit.core.jurisdictions import Conventions
from credit.core.machine import DECIDED
from credit.core.reasons import in_words, reasons_of
from credit.models import Application, ApplicationHistory, Offer
from credit.models.applications import REVIEW_PERMISSION, WITH_CURRENCY

# Amounts are in units of `currency`, with decimals. The columns from `approved_amount` to `fee` are the approved terms.
_COMPUTED = (
    "reference", "legal_name", "account", "offer_name", "amount", "requested_term_months", "approved_amount",
    "rate_percent", "apr_percent", "term_months", "fee", "currency", "reasons", "assignee",
)  # fmt: skip
_SHOWN_MASKED = frozenset({"reference", "account", "offer_name", "assignee"})
_READ = (
    "applicants", "consumer__username", "amount_cents", "application_data", "loan_terms__amount_cents",
    "loan_terms__rate_percent", "loan_terms__apr_percent", "loan_terms__term_months", "loan_terms__fee_cents",
    "decision_metadata", "offer_name", "offer_snapshot", "draft_currency",
)  # fmt: skip


def assignees_of(viewer: Any, application_ids: Iterable[Any]) -> dict[str, str]:
    """Map application IDs to assignees.

    For staff, the platform's assignee takes precedence over the lender's assignee.
    """
    kind, ids = Application._meta.label_lower, [str(pk) for pk in application_ids]
    working = Assignment.in_force(REVIEW_PERMISSION, kind=kind, record_id__in=ids)
    working = narrowed(working, viewer).order_by("-provider")
    return dict(working.values_list("record_id", "assignee__username"))


class ApplicationExport(Exports):
    def columns_to_export(self) -> list[str]:
        return [*self.export_columns, *_COMPUTED]

    def export_rows(self, request: HttpRequest, rows: QuerySet[Any], hidden: set[str]) -> Iterator[Iterable[Any]]:
        """Yield chunks of rows, with a query per chunk for the assignees."""
        decisions = ApplicationHistory.objects.filter(application=OuterRef("pk"), status__in=DECIDED)
        read = rows.annotate(
            decision_metadata=Subquery(decisions.order_by("-position").values("metadata")[:1]),
            offer_name=Subquery(Offer.objects.filter(pk=OuterRef("offer_id")).values("name")),
            **WITH_CURRENCY,
        ).values(*self.export_columns, *_READ)
        is_masked, waiting = not may(request.user, VIEW), read.iterator(chunk_size=CHUNK_ROWS)
        while chunk := list(islice(waiting, CHUNK_ROWS)):
            assignees = assignees_of(request.user, [row["id"] for row in chunk])
            for row in chunk:
                computed = self.computed_cells(row, assignees.get(str(row["id"]), ""), is_masked=is_masked)
                stored = (mask(row[name]) if name in hidden else row[name] for name in self.export_columns)
                yield [*stored, *(computed[name] for name in _COMPUTED)]

    def computed_cells(self, row: dict[str, Any], assignee: str, *, is_masked: bool) -> dict[str, Any]:
        cells: dict[str, Any] = {
            "reference": reference_of(row["id"]),
            "account": row["consumer__username"],
            "offer_name": row["offer_name"],
            "assignee": assignee,
        }
        if is_masked:
            return {name: cells[name] if name in _SHOWN_MASKED else MASK for name in _COMPUTED}
        reasons = reasons_of(row["decision_metadata"]) if row["status"] in DECIDED else []
        snapshot, stored = row["offer_snapshot"], row["applicants"]
        field: Any = Application._meta.get_field("applicants")
        currency = row["draft_currency"] or "USD" if snapshot is None else Conventions.of(snapshot).currency
        return {
            **cells,
            "currency": currency,
            "legal_name": joined_names(readable(lambda: field.open(stored, row["id"]))),
            "amount": to_units(row["amount_cents"], currency),
            "requested_term_months": Figures(row["application_data"]).term_months,
            "approved_amount": to_units(row["loan_terms__amount_cents"], currency),
            "rate_percent": row["loan_terms__rate_percent"],
            "apr_percent": row["loan_terms__apr_percent"],
            "term_months": row["loan_terms__term_months"],
            "fee": to_units(row["loan_terms__fee_cents"], currency),
            "reasons": in_words(reasons) or "",
        }
