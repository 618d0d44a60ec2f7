"""Personal data at the back office: masked for those who need not see it, and every look written down.

An admin says that its records are about people (`is_about_people`), whose data a record is (`subject_of`) and which
columns are personal (`personal_fields`). Whoever lacks
`backoffice.view_personal_data` sees them masked, and with `backoffice.unmask_personal_data` can unmask one record for
UNMASKED_SECONDS by giving a reason, which is kept. Masking changes the record in memory only; these admins never save
what they show.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django import forms
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from config.backoffice.forms import SeenForm
from config.backoffice.lists import LargeListAdmin
from config.backoffice.models import DataAccess

MASK = "•••"
UNMASKED_SECONDS = 600
VIEW, UNMASK = "backoffice.view_personal_data", "backoffice.unmask_personal_data"
_SESSION_KEY = "backoffice.unmasked"
_REASON_MAX_LENGTH = 1_000


def mask(value: Any) -> Any:
    """Return `value` with everything hidden but its shape: keys stay, of texts the first character."""
    if value is None or value == "":
        return value
    if isinstance(value, dict):
        return {key: mask(member) for key, member in value.items()}
    if isinstance(value, list):
        return [mask(member) for member in value]
    return f"{value[0]}{MASK}" if isinstance(value, str) else MASK


class UnmaskForm(SeenForm):
    """Why somebody has to see a person's data."""

    reason = forms.CharField(
        max_length=_REASON_MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Kept for good, with your name. For example the number of the person's request.",
    )


class PersonalDataAdmin(LargeListAdmin):
    """An admin whose records may be about a person."""

    personal_fields: ClassVar[tuple[str, ...]] = ()
    is_about_people: ClassVar[bool] = False  # an admin that says so overrides `subject_of`

    def subject_of(self, record: Any) -> int | None:
        """Return the id of the user whose data the record is; None when it is nobody's."""
        del record
        return None

    def knows_person(self, request: HttpRequest, record: Any) -> bool:
        """Say whether this viewer's work is this record, which unmasks it."""
        del request, record
        return False

    @property
    def record_kind(self) -> str:
        """Return the kind by which the back office names these records."""
        return self.opts.label_lower

    def is_masked_for(self, request: HttpRequest, record: Any) -> bool:
        """Say whether this viewer sees the record masked."""
        if not self.is_about_people or request.user.has_perm(VIEW):
            return False
        until = request.session.get(_SESSION_KEY, {}).get(f"{self.record_kind}:{record.pk}", 0)
        return until < timezone.now().timestamp() and not self.knows_person(request, record)

    def mask_record(self, record: Any) -> None:
        """Hide the record's personal columns, in memory."""
        for name in self.personal_fields:
            if name in record.__dict__:  # a deferred column is not read for being hidden
                setattr(record, name, mask(getattr(record, name)))
        record.is_masked = True

    def unmask(self, request: HttpRequest, record: Any, form: UnmaskForm) -> str:
        """Show this record to this session for a while, and write down why."""
        now = timezone.now()
        shown = {key: until for key, until in request.session.get(_SESSION_KEY, {}).items() if until > now.timestamp()}
        shown[f"{self.record_kind}:{record.pk}"] = now.timestamp() + UNMASKED_SECONDS
        request.session[_SESSION_KEY] = shown
        self.note(request, DataAccess.UNMASKED, record, reason=form.cleaned_data["reason"])
        return f"Personal data of this {self.opts.verbose_name} is shown to you for {UNMASKED_SECONDS // 60} minutes."

    def note(self, request: HttpRequest, action: str, record: Any, **facts: Any) -> None:
        """Write down that this viewer saw or took the record's data."""
        DataAccess.note(
            action,
            viewer=request.user,
            kind=self.record_kind,
            record_id=str(record.pk),
            subject_id=self.subject_of(record),
            now=timezone.now(),
            **facts,
        )

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the record, masked where a page is drawn for somebody who sees it so."""
        record = super().get_object(request, object_id, from_field)
        if record is not None and getattr(request, "draws_record", False) and self.is_masked_for(request, record):
            self.mask_record(record)
        return record

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the record's page, and write down that it was seen."""
        request.draws_record = True  # type: ignore[attr-defined]
        if request.method == "GET":
            record = self.get_object(request, unquote(object_id))
            may_see = record is not None and self.has_view_or_change_permission(request, record)
            if may_see and self.is_about_people:
                self.note(request, DataAccess.PAGE, record, was_masked=getattr(record, "is_masked", False))
        return super().change_view(request, object_id, form_url, extra_context)

    def get_sortable_by(self, request: HttpRequest) -> Any:
        """Let nobody sort by what they see masked: the order tells what the mask hides."""
        sortable = super().get_sortable_by(request)
        return (
            sortable if request.user.has_perm(VIEW) else [name for name in sortable if name not in self.personal_fields]
        )

    @contextmanager
    def _refusals_noted(self, request: HttpRequest, query: str) -> Iterator[None]:
        """Write down that a look-up was tried which the list does not offer, and refuse it."""
        try:
            yield
        except DisallowedModelAdminLookup:
            self._note_list(request, DataAccess.REFUSED, was_masked=True, query=query)
            raise

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show the list, or note what it refuses."""
        with self._refusals_noted(request, request.GET.urlencode()):
            return super().changelist_view(request, extra_context)

    def filtered_rows(self, request: HttpRequest, filters: str) -> tuple[Any, list[Any]]:
        """Return the rows, or note what is refused."""
        with self._refusals_noted(request, filters):
            return super().filtered_rows(request, filters)

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        """Mask a list's rows where they must be, and write down that the list was seen, also when it was empty.

        That nothing was found is an answer about somebody, too.
        """
        if not self.is_about_people:
            return
        masked = not request.user.has_perm(VIEW)
        if masked:
            for row in rows:
                self.mask_record(row)
        query = request.META.get("QUERY_STRING", "")
        self._note_list(request, DataAccess.LIST, was_masked=masked, query=query, rows=len(rows))

    def _note_list(self, request: HttpRequest, action: str, *, was_masked: bool, query: str, **facts: Any) -> None:
        """Write down what this viewer asked a list for."""
        DataAccess.note(
            action,
            viewer=request.user,
            kind=self.record_kind,
            now=timezone.now(),
            was_masked=was_masked,
            details={"query": query[:500], **facts},
        )
