"""Pages of records: facts that are shown and never edited, and buttons that do one thing each.

A button is a `RecordAction`. It leads to a page that repeats what will happen; the POST of that page calls `run` with
the request, the record and the form, which returns a sentence, or a response of its own.

`run` may raise ApiError or ValidationError: its text is shown on the record's page. `show_secret` answers with a page
that shows something once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from config.backoffice.exports import ExportAdmin
from config.backoffice.forms import SeenForm
from config.backoffice.lists import neighbours_of
from config.backoffice.personal import UNMASK, UNMASKED_SECONDS, UnmaskForm
from config.core.errors import ApiError

# The query parameter in which Django's lists hand their filters to a record's page.
LIST_FILTERS = "_changelist_filters"


@dataclass(frozen=True)
class RecordAction:
    """`permission` is asked of whoever wants to see the button; `refusal` says why it cannot be used now ("" when it
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
    name: str
    label: str
    address: str
    refusal: str
    hint: str = ""


def within_list(address: str, request: HttpRequest) -> str:
    filters = request.GET.get(LIST_FILTERS)
    return address if filters is None else f"{address}?{urlencode({LIST_FILTERS: filters})}"


class ReadOnlyAdmin(ExportAdmin):
    actions = None
    change_form_template = "backoffice/record.html"
    record_actions: ClassVar[tuple[RecordAction, ...]] = ()

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    has_delete_permission = has_change_permission

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Ask for `view`; a permission to change does not stand in for it."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.view_{self.opts.model_name}"))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return self.fields or [field.name for field in self.opts.concrete_fields]

    @property
    def kind(self) -> str:
        return str(self.opts.verbose_name)

    def address_of(self, page: str, *arguments: Any) -> str:
        """Return the address of one of this admin's pages: "changelist", "change", "move", "do"."""
        name = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=arguments)

    def record_address(self, record: Any, request: HttpRequest) -> str:
        return within_list(self.address_of("change", record.pk), request)

    def way_through(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Return where the list goes on from `record`, when the page was reached from a filtered list."""
        filters = request.GET.get(LIST_FILTERS)
        if filters is None:
            return {}
        try:
            places = neighbours_of(record, *self.filtered_rows(request, filters))
        except (IncorrectLookupParameters, SuspiciousOperation, ValidationError, ValueError):
            return {}
        before, after = (pk and within_list(self.address_of("change", pk), request) for pk in places)
        return {"way": {"before": before, "after": after, "list": f"{self.address_of('changelist')}?{filters}"}}

    def notices_of(self, record: Any) -> list[str]:  # noqa: ARG002
        return []

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
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
        request.draws_record = True  # type: ignore[attr-defined]
        record = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = dict(extra_context or {})
        if record is not None and self.has_view_permission(request, record):
            context |= self.page_of(request, record)
        if record is not None and self.has_view_or_change_permission(request, record):
            self.page_seen(request, record)
        return super().change_view(request, object_id, form_url, context)

    def record_path(self, suffix: str, view: Callable[..., HttpResponse], name: str) -> Any:
        """Return the address of a further page of a record, whose view is given the record in place of its id."""

        def with_record(request: HttpRequest, object_id: str, **options: Any) -> HttpResponse:
            record = self.get_object(request, unquote(object_id))
            if not self.has_view_permission(request, record):
                raise PermissionDenied
            if record is None:
                messages.warning(request, f"There is no {self.kind} “{unquote(object_id)}”. It may have been removed.")
                return HttpResponseRedirect(self.address_of("changelist"))
            return view(request, record, **options)

        return self.list_path(f"<path:object_id>/{suffix}", with_record, name)

    def get_urls(self) -> list[Any]:
        return [self.record_path("do/<slug:name>/", self.action_view, "do"), *super().get_urls()]

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        actions = [action for action in self.record_actions if request.user.has_perm(action.permission)]
        if request.user.has_perm(UNMASK) and self.is_masked_for(request, record):
            consequences = [
                f"You see this page's personal data for {UNMASKED_SECONDS // 60} minutes.",
                "That you saw it, when, and the reason you give are kept for good.",
            ]
            label = "Show personal data"
            actions.append(RecordAction("unmask", label, UNMASK, self.unmask, lambda _: consequences, form=UnmaskForm))
        return actions

    def buttons_of(self, request: HttpRequest, record: Any) -> list[Button]:
        return [
            Button(
                action.name,
                action.label,
                within_list(self.address_of("do", record.pk, action.name), request),
                action.refusal(record),
            )
            for action in self.actions_of(request, record)
        ]

    def action_view(self, request: HttpRequest, record: Any, name: str) -> HttpResponse:
        """Repeat what an action does (GET); do it, unless the record changed meanwhile (POST)."""
        action = next((action for action in self.actions_of(request, record) if action.name == name), None)
        if action is None:
            raise PermissionDenied
        if refusal := action.refusal(record):
            messages.error(request, refusal)
            return HttpResponseRedirect(self.record_address(record, request))
        form = action.form(request.POST if request.method == "POST" else None, initial={"seen": action.seen(record)})

        def run() -> str | HttpResponse:
            if form.cleaned_data["seen"] != action.seen(record):
                raise ValidationError(f"The {self.kind} changed since you opened the page. Nothing was done.")
            outcome = action.run(request, record, form)
            self.log_change(request, record, f"{action.label}.")
            return outcome

        return self.confirmed(request, record, form, run, label=action.label, consequences=action.consequences(record))

    def draw(self, request: HttpRequest, template: str, record: Any = None, **page: Any) -> TemplateResponse:
        """Answer with a further page of `record`, or of the list."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "list_address": self.address_of("changelist"),
            "record": record,
            "record_name": record,
            "record_address": record and self.record_address(record, request),
            **page,
        }
        return TemplateResponse(request, template, context)

    def confirmed(
        self, request: HttpRequest, record: Any, form: SeenForm, run: Callable[[], str | HttpResponse], **page: Any
    ) -> HttpResponse:
        """Do what was confirmed and tell the outcome on the record's page; show `page` and ask for a yes before."""
        if not form.is_valid():
            form.focus()
            title = f"{page['label']}: {self.kind} {record}"
            shown = {"title": title, "form": form, "media": self.media + form.media, **page}
            return self.draw(request, "backoffice/confirm.html", record, **shown)
        try:
            outcome = run()
        except (ApiError, ValidationError) as error:
            messages.error(request, "; ".join(error.messages) if isinstance(error, ValidationError) else str(error))
        else:
            if isinstance(outcome, HttpResponse):
                return outcome
            messages.success(request, outcome)
        return HttpResponseRedirect(self.record_address(record, request))


def show_secret(
    request: HttpRequest, record: Any, *, title: str, secrets: Mapping[str, str], note: str
) -> HttpResponse:
    """Answer with a page that shows `secrets` by name, this once: they are in no session and no log."""
    model_admin = cast("ReadOnlyAdmin", admin.site.get_model_admin(type(record)))
    page = {"title": title, "secrets": secrets.items(), "note": note}
    return model_admin.draw(request, "backoffice/secret.html", record, **page)
