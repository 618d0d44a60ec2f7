"""Admin lists whose response time does not depend on the size of the table."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property, wraps
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.text import capfirst

from config.backoffice.consoles import console_of, has_rule, narrowed
from config.backoffice.html import words


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """A paginator that counts at most COUNT_MAX rows."""

    COUNT_MAX = 5_000

    is_capped = False  # True after `count` if more rows exist

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        counted: int = rows.order_by()[: self.COUNT_MAX + 1].count()
        self.is_capped = counted > self.COUNT_MAX
        return min(counted, self.COUNT_MAX)


class WordsFilter(admin.ChoicesFieldListFilter):
    """A filter of a column with choices. Its labels are words: “under review” for `under_review`."""

    def __init__(self, field: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(field, *arguments, **named)
        self.field = copy(field)
        self.field.choices = [(value, words(str(label))) for value, label in self.labels()]

    def labels(self) -> Iterable[tuple[str, str]]:
        return cast("Iterable[tuple[str, str]]", self.field.flatchoices)


admin.FieldListFilter.register(lambda field: bool(field.choices), WordsFilter, take_priority=True)


def among(values: Iterable[str] | Callable[[], Iterable[str]]) -> type[admin.FieldListFilter]:
    """Return a filter with fixed values for a column without choices: `("status", among(MACHINE.statuses))`.

    Django would query the stored values for every page (`SELECT DISTINCT`). `values` may be a function for values that
    are complete only after all apps are ready.
    """

    class Among(WordsFilter):
        def labels(self) -> Iterable[tuple[str, str]]:
            return [(value, value) for value in (values() if callable(values) else values)]

    return Among


class ConditionFilter(admin.SimpleListFilter):
    """A filter by conditions. `conditions` maps each value to a label, and to a Q or a function that returns a Q."""

    conditions: ClassVar[Mapping[str, tuple[str, Q | Callable[[HttpRequest], Q]]]] = {}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(value, label) for value, (label, _) in self.conditions.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        _, condition = self.conditions.get(self.value() or "", ("", Q()))
        return queryset.filter(condition if isinstance(condition, Q) else condition(request))


class PageList(ChangeList):
    """A list that omits the columns of `list_defer`. The admin's `rows_shown` can process the rows of each page."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Django would resolve the URL of each row to add the filters, which is as slow as reading the rows.
        self.filters_of_rows, self.preserved_filters = self.preserved_filters, ""

    def url_for_result(self, result: Any) -> str:
        """Return the URL of a row's page, with the filters of this list."""
        address = super().url_for_result(result)
        return f"{address}?{self.filters_of_rows}" if self.filters_of_rows else address

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> Any:
        filter_values = self.get_filters_params(self.filter_params).values()
        if any("\0" in value for values in filter_values for value in values):
            raise IncorrectLookupParameters  # PostgreSQL rejects NUL characters
        return super().get_queryset(request, exclude_parameters).defer(*self.model_admin.list_defer)  # type: ignore[attr-defined]

    def get_ordering_field(self, field_name: Any) -> Any:
        """Allow only columns of `sortable_by`. Django would also accept other columns in the URL."""
        return super().get_ordering_field(field_name) if field_name in (self.sortable_by or ()) else None

    def get_results(self, request: HttpRequest) -> None:
        if getattr(request, "wants_rows_only", False):
            return
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.model_admin.rows_shown(request, self.result_list)  # type: ignore[attr-defined]


def _refuse(_request: HttpRequest) -> HttpResponseBase:
    raise PermissionDenied


# Django's list filters append these suffixes to a field's name in their links.
_FILTER_LOOKUPS = ("", "__exact", "__isnull", "__isempty", "__id__exact")


class LargeListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The base class of every list, with capped counts, no facets, and pages of 50 rows.

    `list_defer` contains columns that the list does not load. `rows_shown` can load related data for all rows of a page
    in one query.
    """

    paginator: ClassVar[Any] = CappedPaginator
    show_full_result_count = False
    view_on_site = False  # records have no public pages
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_title = ""  # the plural of the model's name by default
    list_max_show_all = 0
    list_defer: ClassVar[tuple[str, ...]] = ()

    @property
    def urls(self) -> list[Any]:
        """Wrap all pages, so that members of lenders get 403 for models without a rule."""
        pages = self.get_urls()
        if not has_rule(self.model):
            for page in pages:
                page.callback = self.for_staff(page.callback)
        return pages

    def for_staff(self, view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        refuse = self.admin_site.admin_view(_refuse)

        @wraps(view)
        def shown(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
            return view(request, *args, **options) if console_of(request.user) is None else refuse(request)

        return shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Select the rows that the viewer may view, for lists, searches, exports, pages, and bulk actions.

        The rows must be ordered, because Django's autocomplete paginates them.
        """
        rows = self.viewable(request, super().get_queryset(request))
        return rows if rows.ordered else rows.order_by("-pk")

    def viewable(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        return narrowed(rows, request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        console = console_of(request.user)
        return (
            super().has_module_permission(request) if console is None else bool(console.seats) and has_rule(self.model)
        )

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Display Django's log to staff only, because the log contains names of staff."""
        if console_of(request.user) is not None:
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    def list_path(self, address: str, view: Callable[..., HttpResponseBase], name: str) -> Any:
        name = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return path(address, self.admin_site.admin_view(view), name=name)

    def get_changelist(self, request: HttpRequest, **_options: Any) -> type[ChangeList]:  # noqa: ARG002
        return PageList

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:  # noqa: ARG002
        """Allow only the declared filters of the list.

        Django allows any lookup on the model's own columns. A lookup such as `?email__startswith=j` would reveal masked
        data.
        """
        names = set()
        for entry in self.list_filter if request is None else self.get_list_filter(request):
            if isinstance(entry, type) and issubclass(entry, admin.SimpleListFilter):
                names.add(entry.parameter_name)
            else:
                field = entry[0] if isinstance(entry, list | tuple) else entry
                names |= {f"{field}{suffix}" for suffix in _FILTER_LOOKUPS}
        return lookup in names

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        search_help = [capfirst(each) for each in (self.search_help_text or "").split("; ") if each]
        context = {"title": self.title_of_list(request), "search_help": search_help, **(extra_context or {})}
        return super().changelist_view(request, context)

    def title_of_list(self, request: HttpRequest) -> str:  # noqa: ARG002
        """Return the name of the list in titles, links, and breadcrumbs."""
        return self.list_title or capfirst(str(self.opts.verbose_name_plural))

    def filtered_rows(self, request: HttpRequest, filters: str) -> tuple[Any, list[Any]]:
        """Return the list's rows and their order for a query string. Raises IncorrectLookupParameters."""
        request_copy = copy(request)
        request_copy.GET = QueryDict(filters)
        request_copy.wants_rows_only = True  # type: ignore[attr-defined]
        listed = self.get_changelist_instance(request_copy)
        return listed.queryset, list(listed.get_ordering(request_copy, listed.queryset))

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        """Process the rows of a page before the list displays them."""


def neighbours_of(record: Any, rows: QuerySet[Any], ordering: list[Any]) -> tuple[Any, Any]:
    """Return the primary keys of the rows before and after `record` in `rows`. At either end, the key is None.

    `ordering` contains column names, with a leading minus for a descending order. The last column must be unique.
    `rows` may lack `record`, because the record can stop matching the filters after a decision.
    """
    if not all(isinstance(name, str) for name in ordering):
        return None, None
    places = {name: getattr(record, name.lstrip("-"), None) for name in ordering}
    if None in places.values():
        return None, None
    turned = {name[1:] if name.startswith("-") else f"-{name}": place for name, place in places.items()}
    before, after = (
        rows.order_by(*way).filter(_beyond(way)).values_list("pk", flat=True).first() for way in (turned, places)
    )
    return before, after


def _beyond(places: Mapping[str, Any]) -> Q:
    """Return the condition for rows after these values: one column is greater, and all previous columns are equal."""
    condition, equal = Q(), Q()
    for name, place in places.items():
        column = name.lstrip("-")
        condition |= equal & Q(**{f"{column}__{'lt' if name.startswith('-') else 'gt'}": place})
        equal &= Q(**{column: place})
    return condition
