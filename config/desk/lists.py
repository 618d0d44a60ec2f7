"""Lists over tables of any size."""

from functools import cached_property
from typing import Any, ClassVar

from django.contrib import admin
from django.core.paginator import Paginator


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


class LargeListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What every list of the desk does: no counting of whole tables, no facets, pages of fifty."""

    paginator: ClassVar[Any] = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
