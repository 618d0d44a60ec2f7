"""Moving many records at once: choose, look at what would happen to each, confirm, and read what happened to each.

Every row is a transaction of its own. A row that changed since the preview, or that the rules refuse, is reported and
left as it is; the others are moved.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.safestring import SafeString

from config.backoffice.forms import MoveForm
from config.backoffice.html import chip
from config.backoffice.teamwork import TeamworkAdmin
from config.core.errors import ApiError

ROWS_MAX = 500


@dataclass(frozen=True, slots=True)
class BulkRow:
    """A record in a preview or a result."""

    record: Any
    address: str
    chip: SafeString
    seen: str
    refusal: str
    text: str = ""

    @property
    def tail(self) -> str:
        """Return the end of the record's id, which is what differs."""
        return str(self.record.pk)[-12:]


class BulkAdmin(TeamworkAdmin):
    """Adds to a list the moves in `bulk_moves`, each for many records at once."""

    bulk_moves: ClassVar[tuple[str, ...]] = ()
    move_form: ClassVar[type[MoveForm]] = MoveForm
    reason_required: ClassVar[frozenset[str]] = frozenset()

    def decide(self, request: HttpRequest, pk: Any, form: MoveForm, seen: str) -> str:
        """Move one record, or propose to; return what happened. Raises ApiError."""
        raise NotImplementedError

    def get_urls(self) -> list[Any]:
        """Add the address of a confirmed bulk move."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_bulk"
        return [path("bulk/<slug:to>/", self.admin_site.admin_view(self.bulk_view), name=name), *super().get_urls()]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer the bulk moves to those who review."""
        if not request.user.has_perm(self.review_permission):
            return {}
        return {f"move_to_{to}": self._action(to) for to in self.bulk_moves}

    def _action(self, to: str) -> tuple[Any, str, str]:
        """Return a move as Django lists actions: function, name, words."""

        def preview(_admin: Any, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse | None:
            return self.preview_bulk(request, to, chosen)

        return preview, f"move_to_{to}", f"{self.label_of(to)} …"

    def _bulk_form(self, to: str, data: Any = None) -> MoveForm:
        """Return the form that gives all rows their reason."""
        return self.move_form(data, record=None, to=to, reason_required=self.reason_required, initial={"seen": "bulk"})

    def preview_bulk(self, request: HttpRequest, to: str, chosen: QuerySet[Any]) -> HttpResponse | None:
        """Show what would happen to each chosen record; nothing happens yet."""
        records = list(chosen.defer(None)[: ROWS_MAX + 1])
        if len(records) > ROWS_MAX:
            messages.error(request, f"At most {ROWS_MAX} at once. Choose fewer.")
            return None
        actor = self.actor_of(request)
        rows = []
        for record in records:
            refusal = self.refusal_of(record, to, actor) if self.may_review(request, record) else "Not yours to review."
            rows.append(
                BulkRow(
                    record=record,
                    address=self.record_address(record),
                    chip=chip(record.status),
                    seen=f"{record.pk}|{self.seen_state(record)}",
                    refusal=str(refusal or ""),
                )
            )
        return self._bulk_page(request, to, self._bulk_form(to), rows)

    def _bulk_page(self, request: HttpRequest, to: str, form: MoveForm, rows: list[BulkRow]) -> HttpResponse:
        """Answer with a preview, or with a form that was not right."""
        form.focus()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{self.label_of(to)}: {len(rows)} chosen",
            "label": self.label_of(to),
            "rows": rows,
            "possible": sum(not row.refusal for row in rows),
            "form": form,
            "to_chip": chip(to),
            "list_address": self.address_of("changelist"),
            "bulk_address": self.address_of("bulk", to),
            "media": self.media,
        }
        return TemplateResponse(request, "backoffice/bulk.html", context)

    def bulk_view(self, request: HttpRequest, to: str) -> HttpResponse:
        """Move the confirmed rows, each for itself, and show what happened to each (POST)."""
        if to not in self.bulk_moves or not request.user.has_perm(self.review_permission):
            raise PermissionDenied
        back = HttpResponseRedirect(self.address_of("changelist"))
        confirmed = [row.partition("|") for row in request.POST.getlist("row")] if request.method == "POST" else []
        if not confirmed:
            messages.warning(request, "Nothing was chosen.")
            return back
        if len(confirmed) > ROWS_MAX:
            messages.error(request, f"At most {ROWS_MAX} at once. Choose fewer.")
            return back
        found = {
            str(record.pk): record
            for identifier, _, _ in confirmed
            if (record := self.get_object(request, identifier)) is not None
        }
        chosen = [(found[identifier], seen) for identifier, _, seen in confirmed if identifier in found]
        form = self._bulk_form(to, request.POST)
        if not form.is_valid():
            rows = [
                BulkRow(record, self.record_address(record), chip(record.status), f"{record.pk}|{seen}", "")
                for record, seen in chosen
            ]
            return self._bulk_page(request, to, form, rows)
        results = [self._decide_row(request, record, form, seen) for record, seen in chosen]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{self.label_of(to)}: what happened",
            "label": self.label_of(to),
            "rows": results,
            "done": sum(not row.refusal for row in results),
            "list_address": self.address_of("changelist"),
        }
        return TemplateResponse(request, "backoffice/bulk_result.html", context)

    def _decide_row(self, request: HttpRequest, record: Any, form: MoveForm, seen: str) -> BulkRow:
        """Move one row; return how that went."""
        text, refusal = "", ""
        if not self.may_review(request, record):
            refusal = "Not yours to review."
        else:
            try:
                text = self.decide(request, record.pk, form, seen)
            except ApiError as error:
                refusal = str(error)
        record.refresh_from_db(fields=["status"])
        return BulkRow(record, self.record_address(record), chip(record.status), "", refusal, text)
