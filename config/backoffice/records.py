"""Pages of records: facts that are shown and never edited, and buttons that do one thing each.

A button is a `RecordAction`. It leads to a page that repeats what will happen; the POST of that page calls the app's
own function:

    @admin.register(ApiKey)
    class ApiKeyAdmin(ReadOnlyAdmin):
        record_actions = (
            RecordAction(
                name="revoke",
                label="Revoke",
                permission="identity.change_apikey",
                consequences=lambda key: ["Requests with it are refused at once."],
                refusal=lambda key: "It is revoked already." if key.revoked_at else "",
                run=revoke,              # (request, record, form) -> a sentence, or a response of its own
            ),
        )

`run` may raise ApiError or ValidationError: its text is shown on the record's page. `show_secret` answers with a page
that shows something once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from config.backoffice.exports import ExportAdmin
from config.backoffice.forms import SeenForm
from config.backoffice.neighbours import neighbours_of
from config.backoffice.personal import UNMASK, UNMASKED_SECONDS, UnmaskForm
from config.core.errors import ApiError

# The query parameter in which Django's lists hand their filters to a record's page.
LIST_FILTERS = "_changelist_filters"


@dataclass(frozen=True)
class RecordAction:
    """A button on a record's page, and what it does.

    `permission` is asked of whoever wants to see the button; `refusal` says why it cannot be used now ("" when it
    can). A confirmation is bound to what `seen` returns: when that differs at the POST, nothing is done.
    """

    name: str
    label: str
    permission: str
    run: Callable[[HttpRequest, Any, Any], "str | HttpResponse"]
    consequences: Callable[[Any], Sequence[str]]
    refusal: Callable[[Any], str] = lambda _record: ""
    seen: Callable[[Any], str] = lambda record: str(record.pk)
    form: type[SeenForm] = SeenForm


@dataclass(frozen=True, slots=True)
class Button:
    """A button as the page shows it."""

    name: str
    label: str
    address: str
    refusal: str
    hint: str = ""


def within_list(address: str, request: HttpRequest) -> str:
    """Return `address` with the filters of the list from which this page was reached."""
    filters = request.GET.get(LIST_FILTERS)
    return address if filters is None else f"{address}?{urlencode({LIST_FILTERS: filters})}"


class ReadOnlyAdmin(ExportAdmin):
    """An admin that shows and never edits; what changes something is a `RecordAction`."""

    actions = None
    change_form_template = "backoffice/record.html"
    confirm_template: ClassVar[str] = "backoffice/confirm.html"
    record_actions: ClassVar[tuple[RecordAction, ...]] = ()

    # --- Permissions --------------------------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Nothing is added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nothing is changed here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nothing is deleted here."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Ask for `view`; a permission to change does not stand in for it."""
        del obj
        return bool(request.user.has_perm(f"{self.opts.app_label}.view_{self.opts.model_name}"))

    # --- Facts --------------------------------------------------------------------------------------------------

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show every field that the page names as it is."""
        named = [name for _, options in self.get_fieldsets(request, obj) for name in options["fields"]]
        return [name for entry in named for name in ((entry,) if isinstance(entry, str) else entry)]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Name the columns, when the admin names none."""
        del request, obj
        return self.fields or [field.name for field in self.opts.concrete_fields]

    @property
    def kind(self) -> str:
        """Return what one record is called."""
        return str(self.opts.verbose_name)

    def address_of(self, page: str, *arguments: Any) -> str:
        """Return the address of one of this admin's pages: "changelist", "change", "move", "do"."""
        name = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=arguments)

    def record_address(self, record: Any, request: HttpRequest | None = None) -> str:
        """Return the address of a record's page; with `request`, within the list from which that came."""
        address = self.address_of("change", record.pk)
        return address if request is None else within_list(address, request)

    def way_through(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Return where the list goes on from `record`, when the page was reached from a filtered list."""
        filters = request.GET.get(LIST_FILTERS)
        if filters is None:
            return {}
        try:
            rows, ordering = self.filtered_rows(request, filters)
            before, after = neighbours_of(record, rows, ordering)
        except (IncorrectLookupParameters, SuspiciousOperation, ValidationError, ValueError):
            return {}
        name = {key: None if pk is None else within_list(self.address_of("change", pk), request)
                for key, pk in (("before", before), ("after", after))}  # fmt: skip
        return {"way": {**name, "list": f"{self.address_of('changelist')}?{filters}"}}

    def notices_of(self, record: Any) -> list[str]:
        """Return remarks that stand above the facts."""
        del record
        return []

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Return what the record's page shows beside its facts."""
        return {
            "title": f"{self.kind[:1].upper()}{self.kind[1:]} {record}",
            "subtitle": None,
            "record": record,
            "notices": self.notices_of(record),
            "buttons": self.buttons_of(request, record),
            **self.way_through(request, record),
        }

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the record's page."""
        request.draws_record = True  # type: ignore[attr-defined]
        record = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = dict(extra_context or {})
        if record is not None and self.has_view_permission(request, record):
            context |= self.page_of(request, record)
        return super().change_view(request, object_id, form_url, context)

    # --- Buttons ------------------------------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        """Add the page on which an action is confirmed and done."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        return [
            path("<path:object_id>/do/<slug:name>/", self.admin_site.admin_view(self.action_view), name=name),
            *super().get_urls(),
        ]

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        """Return the actions that this person may use at all."""
        actions = [action for action in self.record_actions if request.user.has_perm(action.permission)]
        if request.user.has_perm(UNMASK) and self.is_masked_for(request, record):
            actions.append(
                RecordAction(
                    name="unmask",
                    label="Show personal data",
                    permission=UNMASK,
                    run=self.unmask,
                    form=UnmaskForm,
                    consequences=lambda _record: [
                        f"You see this page's personal data for {UNMASKED_SECONDS // 60} minutes.",
                        "That you saw it, when, and the reason you give are kept for good.",
                    ],
                )
            )
        return actions

    def buttons_of(self, request: HttpRequest, record: Any) -> list[Button]:
        """Return the actions that this person may use at all."""
        return [
            Button(
                action.name,
                action.label,
                within_list(self.address_of("do", record.pk, action.name), request),
                action.refusal(record),
            )
            for action in self.actions_of(request, record)
        ]

    def find_record(self, request: HttpRequest, object_id: str) -> Any:
        """Return the record of an address, None when there is none; raises PermissionDenied for who may not see it."""
        record = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, record):
            raise PermissionDenied
        return record

    def lead_back(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer an address of a record that is not there."""
        messages.warning(request, f"There is no {self.kind} “{unquote(object_id)}”. It may have been removed.")
        return HttpResponseRedirect(self.address_of("changelist"))

    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Repeat what an action does (GET); do it (POST)."""
        record = self.find_record(request, object_id)
        if record is None:
            return self.lead_back(request, object_id)
        action = next((action for action in self.actions_of(request, record) if action.name == name), None)
        if action is None:
            raise PermissionDenied
        if refusal := action.refusal(record):
            messages.error(request, refusal)
            return HttpResponseRedirect(self.record_address(record, request))
        posted = request.POST if request.method == "POST" else None
        form = action.form(posted, initial={"seen": action.seen(record)})
        if posted is None or not form.is_valid():
            return self.confirm(request, record, form, label=action.label, consequences=action.consequences(record))
        return self.act(request, action, record, form)

    def act(self, request: HttpRequest, action: RecordAction, record: Any, form: SeenForm) -> HttpResponse:
        """Do a confirmed action, unless the record changed meanwhile; tell the outcome on its page."""
        back = HttpResponseRedirect(self.record_address(record, request))
        if form.cleaned_data["seen"] != action.seen(record):
            messages.warning(request, f"The {self.kind} changed since you opened the page. Nothing was done.")
            return back
        try:
            outcome = action.run(request, record, form)
        except (ApiError, ValidationError) as error:
            messages.error(request, "; ".join(error.messages) if isinstance(error, ValidationError) else str(error))
            return back
        self.log_change(request, record, f"{action.label}.")
        if isinstance(outcome, HttpResponse):
            return outcome
        messages.success(request, outcome)
        return back

    def confirm(
        self,
        request: HttpRequest,
        record: Any,
        form: SeenForm,
        *,
        label: str,
        consequences: Sequence[str],
        **extra: Any,
    ) -> HttpResponse:
        """Answer with the page that repeats what will happen and asks for a yes."""
        form.focus()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "record": record,
            "record_address": self.record_address(record, request),
            "list_address": self.address_of("changelist"),
            "title": f"{label}: {self.kind} {record}",
            "label": label,
            "consequences": consequences,
            "form": form,
            "media": self.media + form.media,
            **extra,
        }
        return TemplateResponse(request, self.confirm_template, context)


def show_secret(
    request: HttpRequest, *, model_admin: ReadOnlyAdmin, record: Any, title: str, secrets: Mapping[str, str], note: str
) -> HttpResponse:
    """Answer with a page that shows `secrets` by name, this once: they are in no session and no log."""
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": title,
        "record": record,
        "record_address": model_admin.record_address(record),
        "list_address": model_admin.address_of("changelist"),
        "secrets": secrets.items(),
        "note": note,
    }
    return TemplateResponse(request, "backoffice/secret.html", context)
