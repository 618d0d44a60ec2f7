"""Personal data in the back office: masked for viewers without permission, with a log of every access.

An admin of records with personal data sets `is_about_people`, and `subject_of` returns a record's data subject. The
register of personal data (`config.core.privacy`) lists the personal columns. These columns are masked for viewers
without `backoffice.view_personal_data`. With `backoffice.unmask_personal_data` and a stored reason, a viewer can unmask
a record for UNMASKED_SECONDS. Masking changes only the instance in memory, which these admins never save.
"""

import re
from copy import copy
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.consoles import VIEW, may, narrowed, sides_of
from config.backoffice.forms import ExplainedForm
from config.backoffice.lists import LargeListAdmin
from config.core.casework import DataAccess
from config.core.encryption import blind_digests
from config.core.ids import queryable
from config.core.privacy import erased_among, masked_fields, personal_fields
from config.core.search_words import folded

MASK = "•••"
UNMASKED_SECONDS = 600
PRESENT_FOR = timedelta(minutes=5)  # a viewer counts as present for this time after opening a page
_NUMBERED = re.compile(r"[a-z]+:[0-9]+|[0-9a-f]{8}-[0-9a-f-]{27}")  # matches `user:42` and IDs of records
_SESSION_KEY = "backoffice.unmasked"


def mask(value: Any) -> Any:
    """Mask a value. Keys of objects, lengths of arrays, and first characters of strings stay visible."""
    if value is None or value == "":
        return value
    if isinstance(value, dict):
        return {key: mask(member) for key, member in value.items()}
    if isinstance(value, list):
        return [mask(member) for member in value]
    return f"{value[0]}{MASK}" if isinstance(value, str) else MASK


def logged_query(request: HttpRequest) -> str:
    """Return the query string for the append-only access log, with a digest in place of the search text.

    The search text can be a name or a phone number.
    """
    parameters = request.GET.copy()
    if text := parameters.get("q", "").strip():
        parameters["q"] = text if _NUMBERED.fullmatch(text) else f"digest:{blind_digests(folded(text))[0]}"
    return parameters.urlencode()[:500]


def present_beside(viewer: Any, *, kind: str, record_id: str, now: datetime) -> list[str]:
    """Return the names of users who recently opened a record's page, if the viewer may see these names."""
    pages = DataAccess.objects.filter(kind=kind, record_id=record_id, action=DataAccess.PAGE)
    recent = narrowed(pages.filter(at__gte=now - PRESENT_FOR), viewer)
    return sorted(set(recent.exclude(viewer=viewer).values_list("viewer__username", flat=True)[:50]))


class PersonalData(LargeListAdmin):
    is_about_people: ClassVar[bool] = False  # True if the admin overrides `subject_of`

    @property
    def hidden_fields(self) -> tuple[str, ...]:
        return masked_fields(self.model) if self.is_about_people else ()

    @property
    def retained_fields(self) -> tuple[str, ...]:
        """The retained fields of an erased account, which are masked."""
        kept = [name for name, field in personal_fields(self.model).items() if field.keep is not None]
        return tuple(dict.fromkeys([*self.hidden_fields, *kept])) if self.is_about_people else ()

    def is_record_page(self, request: HttpRequest) -> bool:
        """Check whether the request is for a record's page of this admin."""
        match = request.resolver_match
        return match is not None and match.url_name == f"{self.opts.app_label}_{self.opts.model_name}_change"

    def subject_of(self, record: Any) -> int | None:  # noqa: ARG002
        """Return the id of the record's data subject, or None."""
        return None

    def works_on_record(self, request: HttpRequest, record: Any) -> bool:  # noqa: ARG002
        """Check whether the viewer works on the record. Such a record is not masked."""
        return False

    def is_masked_for(self, request: HttpRequest, record: Any) -> bool:
        """Check whether a record is masked.

        An erased account's record is masked for all viewers. Other records are masked for viewers without VIEW who do
        not work on the record.
        """
        if not self.is_about_people:
            return False
        until = request.session.get(_SESSION_KEY, {}).get(f"{self.opts.label_lower}:{record.pk}", 0)
        if until >= timezone.now().timestamp():
            return False
        if self.is_erased(request, record):
            return True
        return not may(request.user, VIEW) and not self.works_on_record(request, record)

    def is_erased(self, request: HttpRequest, record: Any) -> bool:
        """Check whether the account of a record is erased, with at most one query per record and request."""
        known: dict[str, bool] = request.__dict__.setdefault("erased_records", {})
        key = f"{self.opts.label_lower}:{record.pk}"
        if key not in known:
            known[key] = self.is_about_people and record.pk in erased_among([record])
        return known[key]

    def mask_for(self, request: HttpRequest, record: Any) -> None:
        record.is_of_erased = self.is_erased(request, record)
        self.mask_record(record)

    def mask_record(self, record: Any) -> None:
        """Mask the hidden fields of a record. For an erased account, also mask the retained fields."""
        names = self.retained_fields if getattr(record, "is_of_erased", False) else self.hidden_fields
        for name in names:
            if name in record.__dict__:  # accessing a deferred column would load it
                value = getattr(record, name)
                is_text = isinstance(value, str | dict | list) or name in self.hidden_fields
                setattr(record, name, mask(value) if is_text else None)
        record.is_masked = True

    def name_of(self, request: HttpRequest, record: Any) -> str:
        if self.is_masked_for(request, record):
            record = copy(record)
            self.mask_for(request, record)
        return self.title_of(record)

    def title_of(self, record: Any) -> str:
        """Return a record's name for page titles. Mask the record first, because the name may contain personal data."""
        return str(record)

    def unmask(self, request: HttpRequest, record: Any, form: ExplainedForm) -> str:
        now = timezone.now().timestamp()
        shown = {key: until for key, until in request.session.get(_SESSION_KEY, {}).items() if until > now}
        request.session[_SESSION_KEY] = {**shown, f"{self.opts.label_lower}:{record.pk}": now + UNMASKED_SECONDS}
        self.note(request, DataAccess.UNMASKED, record, reason=form.cleaned_data["reason"])
        return f"You can see the personal data of this {self.opts.verbose_name} for {UNMASKED_SECONDS // 60} minutes."

    def note(self, request: HttpRequest, action: str, record: Any = None, **facts: Any) -> None:
        if record is not None:
            facts |= {"record_id": str(record.pk), "subject_id": self.subject_of(record)}
        for side in sides_of(request.user, record and self.provider_of(record)):
            named = {"kind": self.opts.label_lower, "provider": side}
            DataAccess.note(action, viewer=request.user, now=timezone.now(), **named, **facts)

    def provider_of(self, record: Any) -> str:
        """Return the lender of a record, or "" if it has none."""
        return str(getattr(getattr(record, "application", record), "provider_id", ""))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        drawn = getattr(request, "drawn", {})
        if object_id in drawn:  # prevents Django from loading the record again
            return drawn[object_id]
        record = super().get_object(request, queryable(object_id), from_field)
        if self.is_record_page(request):
            if record is not None and self.is_masked_for(request, record):
                self.mask_for(request, record)
            request.drawn = {object_id: record}  # type: ignore[attr-defined]
        return record

    def get_sortable_by(self, request: HttpRequest) -> Any:
        """Exclude masked columns from sorting, because the order would reveal their values."""
        names = super().get_sortable_by(request)
        if may(request.user, VIEW):
            return names
        return [name for name in names if not {name, self.sorted_by(name)} & {*self.hidden_fields}]

    def sorted_by(self, column: Any) -> str:
        shown = getattr(self, str(column), None) or getattr(self.model, str(column), None)
        return str(getattr(shown, "admin_order_field", None) or column).lstrip("-")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        allowed = super().lookup_allowed(lookup, value, request)
        if not allowed and request is not None:
            self.note(request, DataAccess.REFUSED, was_masked=True, details={"query": logged_query(request)})
        return allowed

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        """Mask the rows, and log the access to the list.

        Empty lists are also logged, because they can reveal information.
        """
        if not self.is_about_people:
            return
        masked = not may(request.user, VIEW)
        erased = erased_among(rows) if rows else set()
        for row in rows:
            row.is_of_erased = row.pk in erased
            if masked or row.is_of_erased:
                self.mask_record(row)
        details = {"query": logged_query(request), "rows": len(rows)}
        self.note(request, DataAccess.LIST, was_masked=masked, details=details)
