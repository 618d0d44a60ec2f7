"""The search box in the header of each page.

An exact ID or reference opens its record. An email address opens the first list with a match. Other text opens a list
with its search.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponseRedirect

from config.backoffice.records import ReadOnlyAdmin
from config.core.ids import parse_uuid, queryable
from config.core.registration import declared


def searched_lists(site: AdminSite, request: HttpRequest, available_apps: list[dict[str, Any]]) -> list[ReadOnlyAdmin]:
    """Return the admins whose lists the viewer can search, with the lists of the main links first."""
    ranks = {page.model: page.rank for page in declared("console_pages")}
    admins = [site.get_model_admin(entry["model"]) for app in available_apps for entry in app["models"]]
    searched = [
        each
        for each in admins
        if isinstance(each, ReadOnlyAdmin) and each.get_search_fields(request) and each.has_view_permission(request)
    ]
    last = max(ranks.values(), default=0) + 1
    return sorted(searched, key=lambda each: ranks.get(each.opts.label_lower, last))


def searched_in(
    site: AdminSite, request: HttpRequest, available_apps: list[dict[str, Any]], typed: str
) -> HttpResponseRedirect | None:
    """Return the redirect to the record with the typed ID, or to a list with a search for the typed text.

    If several lists match a typed ID, the redirect is to the record with this ID, such as an endpoint instead of its
    deliveries. Each list must log the searches of its rows. So only an email address is searched in several lists.
    """
    lists = searched_lists(site, request, available_apps)
    identifier, url = parse_uuid(typed.lower()), ""
    for each in lists:
        named = each.search_by_name(typed) if queryable(typed) else None
        rows = [] if named is None else list(each.get_queryset(request).filter(named).values_list("pk", flat=True)[:2])
        if identifier is not None and identifier in rows:
            return HttpResponseRedirect(each.address_of("change", identifier))
        if rows and not url:
            url = each.address_of("change", rows[0]) if len(rows) == 1 else address_of_search(each, typed)
    if url:
        return HttpResponseRedirect(url)
    if not lists:
        return None
    chosen = _list_with_address(lists, request, typed) if "@" in typed and queryable(typed) else lists[0]
    return HttpResponseRedirect(address_of_search(chosen, typed))


def _list_with_address(lists: list[ReadOnlyAdmin], request: HttpRequest, typed: str) -> ReadOnlyAdmin:
    """Return the first main list about accounts with a match for an email address. If none matches, return the last.

    The search of a list without a match is logged.
    """
    main = {page.model for page in declared("console_pages") if not page.tab}
    about_people = [each for each in lists if each.is_about_people and each.opts.label_lower in main]
    for each in about_people[:-1]:
        matching_rows, _ = each.get_search_results(request, each.get_queryset(request), typed)
        if matching_rows.exists():
            return each
        each.rows_shown(request, [])
    return about_people[-1] if about_people else lists[0]


def address_of_search(model_admin: ReadOnlyAdmin, typed: str) -> str:
    return f"{model_admin.address_of('changelist')}?{urlencode({'q': typed})}"
