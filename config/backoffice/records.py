"""Pages of records, with read-only fields and buttons.

A `RecordAction` is a button that opens a confirmation page with the consequences. The POST of that page calls `run`,
which returns a message or a response. If `run` raises ApiError or ValidationError, the page displays the error and the
entered values.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import quote, unquote
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.db.models import Q, QuerySet, UUIDField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from config.backoffice.consoles import UNMASK, UNMASK_ERASED, console_of, may
from config.backoffice.exports import Exports
from config.backoffice.forms import ExplainedForm, SeenForm
from config.backoffice.html import chip, code, column, record_link, without_link
from config.backoffice.lists import neighbours_of
from config.backoffice.people import find_people
from config.backoffice.personal import UNMASKED_SECONDS
from config.core.casework import DataAccess
from config.core.errors import ApiError
from config.core.ids import parse_positive_int64, parse_uuid
from config.core.search_words import compounds_of, has_words

# Django's lists pass their filters to a record's page in this query parameter.
LIST_FILTERS = "_changelist_filters"
NEWEST_MAX = 100_000  # a search without an index reads only this number of the newest rows
FOUND_MAX = 100
_NAMED_MAX = 1_000
_PART_OF_ID = re.compile(r"…?([0-9a-f-]{10,36})", re.ASCII)
AN_ID = f"An id, or 10 characters of an id (searches the newest {NEWEST_MAX:,})"


@dataclass(frozen=True)
class RecordAction:
    """A button on a record's page.

    The button requires `permission`. `refusal` returns the reason for a disabled button, or "". If the result of `seen`
    changes between the confirmation page and its POST, the action is not executed.
    """

    name: str
    label: str
    permission: str
    run: Callable[[HttpRequest, Any, Any], "str | HttpResponse"]
    consequences: Callable[[Any], Sequence[str]]
    refusal: Callable[[Any], str] = lambda _record: ""
    seen: Callable[[Any], str] = lambda record: str(record.pk)
    form: type[SeenForm] = SeenForm
    initial: Callable[[Any], Mapping[str, Any]] = lambda _record: {}
    beside: Callable[[Any, Any], Mapping[str, Any]] = lambda _record, _form: {}  # see `confirmed`
    logged: Callable[[Any], str] = lambda _form: ""  # the text that follows the label in Django's log


@dataclass(frozen=True, slots=True)
class Button:
    name: str
    label: str
    address: str
    refusal: str
    hint: str = ""
    is_plain: bool = False  # prevents the filled style of a bar's first button


def within_list(address: str, request: HttpRequest) -> str:
    filters = request.GET.get(LIST_FILTERS)
    return address if filters is None else f"{address}?{urlencode({LIST_FILTERS: filters})}"


class ReadOnlyAdmin(Exports):
    actions: Any = None
    change_form_template = "backoffice/record.html"
    record_actions: ClassVar[tuple[RecordAction, ...]] = ()

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    has_delete_permission = has_change_permission

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Require the permission to view, because the permission to change is not sufficient.

        Viewers with UNMASK_ERASED can also open the masked record of an erased account.
        """
        if may(request.user, f"{self.opts.app_label}.view_{self.opts.model_name}"):
            return True
        return obj is not None and may(request.user, UNMASK_ERASED) and self.is_erased(request, obj)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """Omit the help texts of read-only fields, which describe fields of the API."""
        named = {*map(str, self.get_readonly_fields(request, obj))}
        is_edited = self.has_change_permission(request, obj)
        read = [field.name for field in self.opts.fields if field.name in named or not is_edited]
        options.setdefault("help_texts", dict.fromkeys(read, ""))
        return super().get_form(request, obj, change=change, **options)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return self.fields or [field.name for field in self.opts.concrete_fields]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if console_of(request.user) is None:
            return fieldsets

        def at_console(names: Any) -> list[Any]:
            return [without_link(self.opts, name) if isinstance(name, str) else at_console(name) for name in names]

        return [(title, {**options, "fields": at_console(options["fields"])}) for title, options in fieldsets]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        shown = super().get_readonly_fields(request, obj)
        return shown if console_of(request.user) is None else [without_link(self.opts, name) for name in shown]

    @property
    def kind(self) -> str:
        return str(self.opts.verbose_name)

    @property
    def kinds(self) -> str:
        return str(self.opts.verbose_name_plural)

    def address_of(self, page: str, pk: Any = None, *arguments: Any) -> str:
        """Return the URL of this admin's page: "changelist", or a record's "change", "move", or "do"."""
        name = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=arguments if pk is None else (quote(str(pk)), *arguments))

    def record_address(self, record: Any, request: HttpRequest) -> str:
        return within_list(self.address_of("change", record.pk), request)

    def links_to_neighbors(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Return links to the previous and the next record if a list opened the page."""
        filters = request.GET.get(LIST_FILTERS)
        if filters is None:
            return {}
        try:
            places = neighbours_of(record, *self.filtered_rows(request, filters))
        except (IncorrectLookupParameters, SuspiciousOperation, ValidationError, ValueError):
            return {}
        before, after = (pk and within_list(self.address_of("change", pk), request) for pk in places)
        return {"way": {"before": before, "after": after, "list": f"{self.address_of('changelist')}?{filters}"}}

    def search_by_name(self, term: str) -> Q | None:  # noqa: ARG002
        """Return the filter for a term that identifies a record, otherwise None."""
        return None

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        """Return the unmasked titles of the records with these IDs, with at most one query.

        Lists of other records display these titles.
        """
        return {}

    def names_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:
        """Return the titles of the records with these IDs.

        If titles contain personal data, an override logs the access.
        """
        return self.titles_of(request, ids)

    def notices_of(self, record: Any) -> list[str]:  # noqa: ARG002
        return []

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        return {
            "title": f"{capfirst(self.kind)} {self.title_of(record)}",
            "list_title": self.title_of_list(request),
            "subtitle": None,
            "record": record,
            "notices": self.notices_of(record),
            "buttons": self.buttons_of(request, record),
            **self.links_to_neighbors(request, record),
        }

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        record = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = dict(extra_context or {})
        if record is None and self.has_view_or_change_permission(request):
            raise Http404
        if record is not None and self.has_view_permission(request, record):
            context |= self.page_of(request, record)
        is_read = request.method == "GET" and self.is_about_people
        if is_read and record is not None and self.has_view_or_change_permission(request, record):
            self.note(request, DataAccess.PAGE, record, was_masked=getattr(record, "is_masked", False))
        return super().change_view(request, object_id, form_url, context)

    def record_path(self, suffix: str, view: Callable[..., HttpResponse], name: str) -> Any:
        """Return the URL pattern of another page of a record. The view receives the record."""

        def with_record(request: HttpRequest, object_id: str, **options: Any) -> HttpResponse:
            record = self.get_object(request, unquote(object_id))
            if not self.has_view_permission(request, record):
                raise PermissionDenied
            if record is None:
                raise Http404
            return view(request, record, **options)

        return self.list_path(f"<path:object_id>/{suffix}", with_record, name)

    def get_urls(self) -> list[Any]:
        return [self.record_path("do/<slug:name>/", self.action_view, "do"), *super().get_urls()]

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        actions = [action for action in self.record_actions if may(request.user, action.permission)]
        permission = UNMASK_ERASED if self.is_erased(request, record) else UNMASK
        if may(request.user, permission) and self.is_masked_for(request, record):
            consequences = [
                f"You can see the personal data on this page for {UNMASKED_SECONDS // 60} minutes.",
                "The audit log stores your access, its time, and your reason. You can't change them later.",
            ]
            label = "Show personal data"
            actions.append(
                RecordAction("unmask", label, permission, self.unmask, lambda _: consequences, form=ExplainedForm)
            )
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
        """Display an action's consequences (GET), or execute the action if the record is unchanged (POST)."""
        action = next((action for action in self.actions_of(request, record) if action.name == name), None)
        if action is None:
            raise PermissionDenied
        if refusal := action.refusal(record):
            messages.error(request, refusal)
            return HttpResponseRedirect(self.record_address(record, request))
        initial = {**action.initial(record), "seen": action.seen(record)}
        is_sent = request.method == "POST"
        form = action.form(request.POST if is_sent else None, request.FILES if is_sent else None, initial=initial)

        def run() -> str | HttpResponse:
            if form.cleaned_data["seen"] != action.seen(record):
                raise ValidationError(
                    f"The {self.kind} changed after you opened the page, so the action was not executed. Check its "
                    "page, then send the form again."
                )
            outcome = action.run(request, record, form)
            self.log_change(request, record, f"{action.label}. {action.logged(form)}".strip())
            return outcome

        page = {"to": name, "consequences": action.consequences(record), **action.beside(record, form)}
        return self.confirmed(request, record, form, run, label=action.label, **page)

    def draw(self, request: HttpRequest, template: str, record: Any = None, **page: Any) -> TemplateResponse:
        """Render an additional page of `record`, or of the list if `record` is None.

        The page contains data of the record, so the access is logged.
        """
        if record is not None and self.is_about_people:
            self.note(request, DataAccess.PAGE, record, was_masked=self.is_masked_for(request, record))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "list_address": self.address_of("changelist"),
            "list_title": self.title_of_list(request),
            "record": record,
            "record_name": record and self.name_of(request, record),
            "record_address": record and self.record_address(record, request),
            **page,
        }
        return TemplateResponse(request, template, context)

    def confirmed(
        self, request: HttpRequest, record: Any, form: SeenForm, run: Callable[[], str | HttpResponse], **page: Any
    ) -> HttpResponse:
        """Display `page`. After a confirmation, execute the action, and display the outcome on the record's page.

        The page is displayed again after a click on `preview`, or if it must first display computed figures (`unseen`)
        or inserted texts. After an error, the page contains the error and the entered values. A form without visible
        fields has no values, so the record's page then displays the error.
        """
        is_sent = form.is_valid() and "preview" not in request.POST and not page.get("unseen") and not form.inserted
        if is_sent:
            try:
                outcome = run()
            except (ApiError, ValidationError) as error:
                form.set_errors(error)
                # The page displays the record's current state, so the next confirmation applies to this state.
                data: Any = form.data
                data = data.copy()
                data["seen"] = form.initial["seen"]
                form.data = data
                if not form.visible_fields():
                    messages.error(request, " ".join(map(str, form.non_field_errors())))
                    return HttpResponseRedirect(self.record_address(record, request))
            else:
                if isinstance(outcome, HttpResponse):
                    return outcome
                messages.success(request, outcome)
                return HttpResponseRedirect(self.record_address(record, request))
        form.focus()
        shown = {
            "title": f"{page['label']}: {self.kind} {self.name_of(request, record)}",
            "form": form,
            "media": self.media + form.media,
            "summarized": form.is_bound and "preview" not in request.POST,
            **page,
        }
        return self.draw(request, "backoffice/confirm.html", record, **shown)


class OwnedRecords(ReadOnlyAdmin):
    """Admin for records that an account owns, with a search by the record's ID or by the account.

    `user:42` searches for an account's ID. A search for a part of an ID covers only the newest rows. `owner` is the
    foreign key to the account. Override `search_by_name` to find records by an identifier that is not a UUID.
    """

    owner: ClassVar[str] = "user"
    is_about_people = True
    list_select_related: ClassVar[Any] = ("user",)
    search_fields: ClassVar[list[str] | tuple[str, ...]] = ("id",)
    search_help_text = (
        f"{AN_ID}, or a person's user name (its beginning), id, whole words of a name, email address or phone"
    )
    ordering = ("-id",)

    def subject_of(self, record: Any) -> int | None:
        owner: int = getattr(record, f"{self.owner}_id")
        return owner

    def search_by_name(self, term: str) -> Q | None:
        identifier = parse_uuid(term.lower())
        return Q(pk=identifier) if identifier else None

    def search_by_person(self, request: HttpRequest, term: str) -> Q:
        """Return the condition for records of accounts with this name, email address, or phone number."""
        return Q(**{f"{self.owner}_id__in": find_people(term, request.user)})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        named = self.search_by_name(term)
        if named is not None:
            return queryset.filter(named), False
        user_id = parse_positive_int64(term.removeprefix("user:"))
        people, condition = {user_id} if user_id else set(), Q()
        if not (user_id and term.startswith("user:")):
            users = get_user_model()._default_manager.all()
            # Members of lenders find only accounts with records in their console.
            if console_of(request.user) is not None:
                users = users.filter(pk__in=queryset.order_by().values(f"{self.owner}_id"))
            people.update(users.filter(username__startswith=term).values_list("pk", flat=True)[:FOUND_MAX])
            condition |= self.search_by_person(request, term)
        condition |= Q(**{f"{self.owner}_id__in": people})
        part = _PART_OF_ID.fullmatch(term.lower()) if isinstance(self.opts.pk, UUIDField) else None
        if part is not None:
            partly = self.newest(request).filter(pk__contains=part[1]).values_list("pk", flat=True)
            condition |= Q(pk__in=list(partly[:FOUND_MAX]))
        return queryset.filter(condition), False

    def newest(self, request: HttpRequest) -> QuerySet[Any]:
        rows = self.get_queryset(request).order_by()
        return rows.filter(pk__in=rows.order_by("-pk").values("pk")[:NEWEST_MAX])

    status_chip = column(chip, "status", "status", ordering="status")

    identifier = column(code, "pk", "id")

    @admin.display(description="id", ordering="id")
    def short_id(self, record: Any) -> SafeString | str:
        return code(f"…{str(record.pk)[-12:]}")

    @admin.display(description="person", ordering="user_id")
    def person(self, record: Any) -> SafeString | str:
        owner = getattr(record, self.owner)
        return record_link("identity_user", owner.pk, f"{owner.get_username()} ({owner.pk})")


class NamedRecords(ReadOnlyAdmin):
    """Admin with a search for words or parts of words of a name, in any order.

    The search ignores case, accents, and hyphens, and reads only the newest rows. `name_field` is the column of the
    name. `search_fields` are for IDs.
    """

    name_field: ClassVar[str] = "name"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        matching_rows, has_duplicates = super().get_search_results(request, queryset, search_term)
        if not (compounds := compounds_of(search_term)):
            return matching_rows, has_duplicates
        names = queryset.order_by("-pk").values_list("pk", self.name_field)[:NEWEST_MAX]
        named = [pk for pk, name in names.iterator() if has_words(name, compounds)]
        return matching_rows | queryset.filter(pk__in=named[:_NAMED_MAX]), has_duplicates


def show_secret(
    request: HttpRequest, record: Any, *, title: str, secrets: Mapping[str, str], note: str
) -> HttpResponse:
    """Return a page that displays `secrets` by name once. Sessions and logs do not contain the secrets."""
    model_admin = cast("ReadOnlyAdmin", admin.site.get_model_admin(type(record)))
    page = {"title": title, "secrets": secrets.items(), "note": note}
    return model_admin.draw(request, "backoffice/secret.html", record, **page)
