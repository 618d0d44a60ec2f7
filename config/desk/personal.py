"""Personal data at the desk: masked for those who need not see it, and every look written down.

An admin says whose data a record is (`subject_of`) and which columns are personal (`personal_fields`). Whoever lacks
`desk.view_personal_data` sees them masked, and with `desk.unmask_personal_data` can unmask one record for
UNMASKED_SECONDS by giving a reason, which is kept. Masking changes the record in memory only; these admins never save
what they show.
"""

from typing import Any, ClassVar

from django import forms
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from config.desk.forms import SeenForm
from config.desk.lists import LargeListAdmin
from config.desk.models import Sighting

MASK = "•••"
UNMASKED_SECONDS = 600
VIEW, UNMASK = "desk.view_personal_data", "desk.unmask_personal_data"
_SESSION_KEY = "desk.unmasked"
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
        """Return the kind by which the desk names these records."""
        return self.opts.label_lower

    def is_masked_for(self, request: HttpRequest, record: Any) -> bool:
        """Say whether this viewer sees the record masked."""
        if self.subject_of(record) is None or request.user.has_perm(VIEW):
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
        self.note(request, Sighting.UNMASKED, record, reason=form.cleaned_data["reason"])
        return f"Personal data of this {self.opts.verbose_name} is shown to you for {UNMASKED_SECONDS // 60} minutes."

    def note(self, request: HttpRequest, action: str, record: Any, **facts: Any) -> None:
        """Write down that this viewer saw or took the record's data."""
        Sighting.note(
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
            if may_see and self.subject_of(record) is not None:
                self.note(request, Sighting.PAGE, record, was_masked=getattr(record, "is_masked", False))
        return super().change_view(request, object_id, form_url, extra_context)

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        """Mask a list's rows where they must be, and write down that the list was seen."""
        if not rows or self.subject_of(rows[0]) is None:
            return
        masked = not request.user.has_perm(VIEW)
        if masked:
            for row in rows:
                self.mask_record(row)
        details = {"query": request.META.get("QUERY_STRING", "")[:500], "rows": len(rows)}
        Sighting.note(
            Sighting.LIST,
            viewer=request.user,
            kind=self.record_kind,
            now=timezone.now(),
            was_masked=masked,
            details=details,
        )
