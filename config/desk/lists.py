"""Lists over tables of any size."""

from copy import copy
from functools import cached_property
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.http import HttpRequest, QueryDict


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """A paginator that stops counting at COUNT_MAX: nobody pages further, and a whole table is never counted."""

    COUNT_MAX = 5_000

    @cached_property
    def _counted(self) -> int:
        """Return how many rows there are, up to one more than the cap."""
        rows: Any = self.object_list
        if hasattr(rows, "order_by"):
            return int(rows.order_by()[: self.COUNT_MAX + 1].count())
        return len(rows)

    @cached_property
    def count(self) -> int:
        """Return how many rows can be paged through."""
        return min(self._counted, self.COUNT_MAX)

    @property
    def is_capped(self) -> bool:
        """Say whether there are more rows than can be paged through."""
        return self._counted > self.COUNT_MAX


class PageList(ChangeList):
    """A list that reads only what it shows, and lets its admin complete a page in one go."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> Any:
        """Leave out the columns that the list does not show."""
        return super().get_queryset(request, exclude_parameters).defer(*self.model_admin.list_defer)  # type: ignore[attr-defined]

    def get_results(self, request: HttpRequest) -> None:
        """Read the page, and hand it to the admin; nothing, where only the filtered rows are asked for."""
        if getattr(request, "wants_rows_only", False):
            return
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.model_admin.complete_page(self.result_list)  # type: ignore[attr-defined]
        self.model_admin.rows_shown(request, self.result_list)  # type: ignore[attr-defined]


class LargeListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What every list of the desk does: no counting of whole tables, no facets, pages of fifty.

    `list_defer` names columns that a list need not read. `complete_page` may add to a page's rows what would cost a
    query per row.
    """

    paginator: ClassVar[Any] = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    list_defer: ClassVar[tuple[str, ...]] = ()

    def get_changelist(self, request: HttpRequest, **_options: Any) -> type[ChangeList]:
        """Use our list."""
        del request
        return PageList

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Name the page by what it lists."""
        plural = str(self.opts.verbose_name_plural)
        context = {"title": f"{plural[:1].upper()}{plural[1:]}", **(extra_context or {})}
        return super().changelist_view(request, context)

    def filtered_rows(self, request: HttpRequest, filters: str) -> tuple[Any, list[Any]]:
        """Return the rows of the list under `filters` (a query string), and their order.

        Raises Django's IncorrectLookupParameters for filters that the list does not have.
        """
        asked = copy(request)
        asked.GET = QueryDict(filters)
        asked.wants_rows_only = True  # type: ignore[attr-defined]
        listed = self.get_changelist_instance(asked)
        return listed.queryset, list(listed.get_ordering(asked, listed.queryset))

    def complete_page(self, rows: list[Any]) -> None:
        """Do nothing, unless a room needs something."""

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        """Do nothing, unless the rows are about people (`config.desk.personal`)."""
