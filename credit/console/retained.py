"""Applications of erased accounts, which retention law requires their lenders to keep."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from config.backoffice.bases import ReviewAdmin
from config.backoffice.consoles import console_of
from credit.console.lender_console import sent

_RETAINED = sent(with_erased=True)


class RetainedFiles(ReviewAdmin):
    """Lets a lender's members open the masked page of a retained application by its address.

    No list, search, or export has such an application.
    """

    def viewable(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        console, match = console_of(request.user), request.resolver_match
        pages = f"{self.opts.app_label}_{self.opts.model_name}_"
        is_page = match is not None and str(match.url_name).startswith(pages) and "object_id" in match.kwargs
        return super().viewable(request, rows) if console is None or not is_page else rows.filter(_RETAINED(console))
