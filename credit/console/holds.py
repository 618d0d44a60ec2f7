"""The litigation hold on an application's page, and the list of holds, where operators start or end a hold.

The list shows no data of applications, because operators can't open applications.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from config.backoffice.bases import RecordAction, ReviewAdmin, SeenForm
from config.backoffice.consoles import console_of, may
from config.backoffice.html import chip, column, day_in_words, moment
from config.backoffice.lists import ConditionFilter
from config.backoffice.transitions import actor_of
from config.core.errors import ApiError
from config.core.ids import parse_uuid
from credit.console.lender_console import sent
from credit.console.records import ReferenceAdmin
from credit.core.figures import end_of_id, reference_of
from credit.models import Application, RetentionHold
from credit.notices.retention import HOLD_PERMISSION, set_hold

_RETAINED = sent(with_erased=True)


class RetainedFiles(ReviewAdmin):
    """Allow a lender's members to open the masked page of a retained application by its URL.

    Lists, searches, and exports exclude retained applications.
    """

    def viewable(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        console, match = console_of(request.user), request.resolver_match
        pages = f"{self.opts.app_label}_{self.opts.model_name}_"
        is_page = match is not None and str(match.url_name).startswith(pages) and "object_id" in match.kwargs
        return super().viewable(request, rows) if console is None or not is_page else rows.filter(_RETAINED(console))


class HoldForm(SeenForm):
    reason = forms.CharField(max_length=500, help_text="The platform stores it with your name.")


def hold_in_words(application_id: Any, *, is_on: bool) -> str:
    """Return the message after the start or the end of a hold."""
    return f"The litigation hold of {reference_of(application_id)} is {'on' if is_on else 'off'}."


def _is_on(application: Any) -> bool:
    hold = RetentionHold.newest_of(application)
    return hold is not None and hold.is_on


def _change(request: HttpRequest, application: Application, form: Any) -> str:
    reason, on = form.cleaned_data["reason"], not _is_on(application)
    set_hold(str(application.pk), on=on, reason=reason, actor=actor_of(request), now=timezone.now())
    return hold_in_words(application.pk, is_on=on)


def _consequences(application: Application) -> list[str]:
    if _is_on(application):
        return [
            "This ends the hold. The platform can erase the application's records when no other retention rule applies."
        ]
    return ["This starts the hold. The platform erases no record of the application while the hold is active."]


_HOLD = RecordAction(
    name="hold",
    label="Start or end a litigation hold",
    permission=HOLD_PERMISSION,
    run=_change,
    form=HoldForm,
    seen=lambda application: f"{application.pk}:{_is_on(application)}",
    consequences=_consequences,
)


class HoldConsole(RetainedFiles):
    """Display a litigation hold to viewers with the permission for holds. Members of a lender lack this permission."""

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        page = super().page_of(request, record)
        if may(request.user, "credit.view_retentionhold"):
            hold = RetentionHold.newest_of(record)
            if hold is not None and hold.is_on:
                page["notices"].append(f"Litigation hold since {day_in_words(hold.at)}: {hold.reason}")
        return page

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        actions = super().actions_of(request, record)
        return [*actions, _HOLD] if may(request.user, HOLD_PERMISSION) else actions


_NUMBER = "A reference such as A-3F9C21AB, or the application's id"
_NEWEST = RetentionHold.objects.filter(application=OuterRef("application")).order_by("-id").values("pk")[:1]


def _numbered(typed: str) -> Q | None:
    """Return the condition for the application with the typed reference or ID, or None if the text is neither."""
    identifier, end = parse_uuid(typed.strip().lower()), end_of_id(typed.strip())
    if identifier is not None:
        return Q(pk=identifier)
    return None if end is None else Application.has_reference(end)


class NewHoldForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form that starts or ends the hold of an application."""

    number = forms.CharField(label="Application", max_length=40, help_text=f"{_NUMBER}.")
    change = forms.ChoiceField(
        label="Hold", choices=[("on", "Start the hold"), ("off", "End the hold")], widget=forms.RadioSelect
    )
    reason = forms.CharField(max_length=500, help_text="The platform stores it with your name.")
    request: HttpRequest

    class Meta:
        model = RetentionHold
        fields = ("reason",)

    field_order = ("number", "change", "reason")

    def clean_number(self) -> Application:
        condition = _numbered(self.cleaned_data["number"])
        if condition is None:
            raise ValidationError(f"{_NUMBER} is required.")
        applications = list(Application.objects.filter(condition).only("pk").order_by("pk")[:2])
        if len(applications) != 1:
            several = "Several applications have this reference. Enter the application's id."
            raise ValidationError(several if applications else "No application has this number.")
        return applications[0]

    def clean(self) -> dict[str, Any]:
        """Store the hold during validation, so that the form can show an error."""
        facts: dict[str, Any] = super().clean() or {}
        if self.errors:
            return facts
        application, on = facts["number"], facts["change"] == "on"
        if on == _is_on(application):
            raise ValidationError("The hold is already on." if on else "The application has no hold.")
        try:
            set_hold(
                str(application.pk), on=on, reason=facts["reason"], actor=actor_of(self.request), now=timezone.now()
            )
        except ApiError as refusal:
            raise ValidationError(str(refusal)) from refusal
        return facts

    def save(self, commit: bool = True) -> RetentionHold:  # noqa: ARG002  Django's signature
        return RetentionHold.objects.filter(application=self.cleaned_data["number"]).latest("pk")

    def save_m2m(self) -> None:
        """Do nothing: `clean` has stored the hold."""


class StateFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {
        "on": ("on now", Q(is_on=True, pk=Subquery(_NEWEST))),
        "ended": ("ended", Q(is_on=False, pk=Subquery(_NEWEST))),
    }


def _refusal(hold: RetentionHold) -> str:
    return "" if _is_on(hold.application_id) else "The application has no hold now."


def _end(request: HttpRequest, hold: RetentionHold, form: SeenForm) -> str:
    reason = form.cleaned_data["reason"]
    set_hold(str(hold.application_id), on=False, reason=reason, actor=actor_of(request), now=timezone.now())
    return hold_in_words(hold.application_id, is_on=False)


@admin.register(RetentionHold)
class HoldAdmin(ReferenceAdmin):
    """The admin of the starts and ends of holds, latest first."""

    list_display = ("reference", "state", "reason", "changed", "principal")
    list_display_links = ("state",)
    list_filter = (StateFilter,)
    list_select_related = ("principal",)
    search_fields = ("=application__id",)
    search_help_text = _NUMBER
    ordering = ("-id",)
    fields = ("reference", "state", "reason", "changed", "principal", "credential")
    record_actions = (
        RecordAction(
            name="end",
            label="End the hold",
            permission=HOLD_PERMISSION,
            run=_end,
            form=HoldForm,
            refusal=_refusal,
            seen=lambda hold: str(getattr(RetentionHold.newest_of(hold.application_id), "pk", "")),
            consequences=lambda _hold: [
                "The platform can erase the application's records when no other retention rule applies."
            ],
        ),
    )

    changed = column(moment, "at", "at")
    state = column(lambda is_on: chip("hold on" if is_on else "hold ended"), "is_on", "hold")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[RetentionHold], search_term: str
    ) -> tuple[QuerySet[RetentionHold], bool]:
        if not search_term.strip():
            return super().get_search_results(request, queryset, search_term)
        condition = _numbered(search_term)
        if condition is None:
            return queryset.none(), False
        return queryset.filter(application__in=Application.objects.filter(condition).values("pk")), False

    def title_of(self, record: RetentionHold) -> str:
        return reference_of(record.application_id)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request.user, HOLD_PERMISSION)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return NewHoldForm.field_order if obj is None else super().get_fields(request, obj)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        if obj is not None:
            return super().get_form(request, obj, change, **options)
        return type("NewHoldForm", (NewHoldForm,), {"request": request})

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**one_button, **(extra_context or {})})

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:  # noqa: ARG002
        messages.success(request, hold_in_words(obj.application_id, is_on=obj.is_on))
        return HttpResponseRedirect(self.address_of("changelist"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Do nothing: `clean` has stored the hold."""
