from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import path, reverse

from config.backoffice.consoles import console_of, may, viewing
from config.backoffice.html import NOTHING
from config.backoffice.lists import LargeListAdmin
from config.backoffice.queues import is_queue, states_of
from config.backoffice.search import address_of_search, searched_in, searched_lists
from config.core.groups import LENDER
from config.core.log_in import gave_second_factor
from config.core.registration import declared

# Admins of these packages would display access tokens, secrets of second factors, and mail addresses.
PACKAGES_KEPT_OUT = frozenset({"oauth2_provider", "allauth"})


class BackOfficeSite(AdminSite):
    site_title = "Back office"
    index_title = "Needs your attention"
    site_url = None  # the platform has no public site
    empty_value_display = NOTHING
    enable_nav_sidebar = False  # the main links replace the sidebar

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = {**super().each_context(request), "site_header": settings.PROVIDER_NAME}
        if not context["has_permission"]:
            return context
        console = console_of(request.user)
        seats = () if console is None else console.seats
        searched = searched_lists(self, request, context["available_apps"])
        typed, links = request.GET.get("q", "").strip(), main_links(request, context["available_apps"])
        models = {page.model for page in declared("console_pages") if not page.tab}
        return {
            **context,
            "main_links": links,
            "tabs": next((each["tabs"] for each in links if each["is_current"] and len(each["tabs"]) > 1), []),
            "in_queue": not any(each["is_current"] for each in links) and is_queue(request.path, request.user),
            "has_search": bool(searched),
            "other_searches": [
                (each.title_of_list(request), address_of_search(each, typed))
                for each in searched
                if typed and each.address_of("changelist") != request.path and each.opts.label_lower in models
            ],
            "lenders": ", ".join(filter(None, dict.fromkeys(seat.name for seat in seats))),
            "lender_logos": list(filter(None, dict.fromkeys(seat.logo for seat in seats))),
        }

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the lists with the names that their own pages display."""
        app_list: list[Any] = super().get_app_list(request, app_label)
        for app in app_list:
            for entry in app["models"]:
                model_admin = self.get_model_admin(entry["model"])
                if isinstance(model_admin, LargeListAdmin):
                    entry["name"] = model_admin.title_of_list(request)
        return app_list

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register an admin, except for packages whose admins would display secrets."""
        if admin_class is not None and admin_class.__module__.partition(".")[0] in PACKAGES_KEPT_OUT:
            return
        super().register(model_or_iterable, admin_class, **options)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Wrap a view. For the errors 400, 403, and 404, return a page of the back office with links."""
        inner: Callable[..., HttpResponse] = super().admin_view(view, cacheable)

        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
            viewing.set(console_of(request.user))
            try:
                return inner(request, *args, **options)
            except PermissionDenied:
                status, title, text = 403, "No access", "Your groups do not have access to this page."
            except DisallowedModelAdminLookup:
                status, title = 400, "No such filter"
                text = "This list does not have this filter. The audit log has your request."
            except Http404:
                status, title = 404, "Not found"
                text = (
                    "No page or record has this address, or you can't open it. Search for a reference or an id above."
                )
            context = {**self.each_context(request), "title": title, "text": text}
            return render(request, "backoffice/refused.html", context, status=status)

        return answer

    def has_permission(self, request: HttpRequest) -> bool:
        """Check access. Members of lenders need a second factor.

        The settings determine whether staff need a second factor.
        """
        if self.has_console(request.user):
            return gave_second_factor(request)
        is_given = not settings.BACKOFFICE_SECOND_FACTOR or gave_second_factor(request)
        return super().has_permission(request) and is_given

    def has_console(self, user: Any) -> bool:
        console = None if user.is_superuser else console_of(user)
        return console is not None and bool(console.seats)

    def get_urls(self) -> list[Any]:
        """Omit Django's "view on site" page, because records have no public pages."""
        pages = [page for page in super().get_urls() if getattr(page, "name", None) != "view_on_site"]
        return [
            path("records/", self.admin_view(self.all_records), name="all_records"),
            path("search/", self.admin_view(self.search), name="search"),
            *pages,
        ]

    def search(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the record with the typed ID, or to a list with a search for the typed text (GET: `q`)."""
        typed = request.GET.get("q", "").strip()
        response = searched_in(self, request, self.get_app_list(request), typed) if typed else None
        return response or HttpResponseRedirect(reverse(f"{self.name}:index"))

    def all_records(self, request: HttpRequest) -> TemplateResponse:
        return TemplateResponse(
            request, "backoffice/all_records.html", {**self.each_context(request), "title": "All records"}
        )

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the log-in page, or for a user who is logged in, to the page of the second factor."""
        wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
        if not request.user.is_authenticated:
            return redirect_to_login(wanted or reverse(f"{self.name}:index"))
        if self.has_permission(request):
            return HttpResponseRedirect(reverse(f"{self.name}:index"))
        user: Any = request.user
        if super().has_permission(request) or self.has_console(user):
            page = "mfa_reauthenticate" if user.authenticator_set.exists() else "mfa_index"
            return redirect_to_login(wanted, reverse(page))
        text = "The back office is for staff and lenders."
        if closed := next(filter(None, (why_closed(user) for why_closed in declared("closed_consoles"))), ""):
            text = closed
        elif user.groups.filter(name=LENDER).exists():
            text = (
                "Your account has no lender yet. Ask an owner of your lender for an invitation, or ask a developer to"
                " create a lender with the API. Then open this page again."
            )
        fields = {"title": "No access", "text": text}
        context = {**fields, **self.each_context(request)}
        return render(request, "backoffice/refused.html", context | (extra_context or {}), status=403)

    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        cards = states_of(request.user)
        console = console_of(request.user)
        charts = [chart.drawn(console) for chart in declared("charts") if may(request.user, chart.permission)]
        calm = [card for card in cards if not card.count]
        context = {"cards": cards, "calm": calm, "charts": charts, **(extra_context or {})}
        return super().index(request, context)


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A main link to the list of a model (`app.model`).

    `title` is the link's text for staff, and `for_lenders` is its text for members of lenders. An empty text hides the
    link. Lists with the same title share a main link. Each of these lists links to the other lists: `tab` is the text
    of the link to a list.
    """

    model: str
    title: str
    rank: int  # lower ranks are displayed first
    for_lenders: str = ""
    tab: str = ""


def main_links(request: HttpRequest, available_apps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    addresses = {
        f"{app['app_label']}.{model['object_name'].lower()}": model["admin_url"]
        for app in available_apps
        for model in app["models"]
    }
    is_lender = console_of(request.user) is not None
    pages: list[ConsolePage] = sorted(declared("console_pages"), key=lambda page: page.rank)
    links: dict[str, dict[str, Any]] = {}
    for page in pages:
        title, address = page.for_lenders if is_lender else page.title, addresses.get(page.model)
        if title and address:
            link = links.setdefault(title, {"title": title, "address": address, "is_current": False, "tabs": []})
            is_current = request.path.startswith(address)
            link["is_current"] |= is_current
            link["tabs"].append({"title": page.tab, "address": address, "is_current": is_current})
    return [*links.values()]


PAGES = (
    ConsolePage("admin.logentry", "Audit", 60, tab="Log entries"),
    ConsolePage("backoffice.dataaccess", "Audit", 61, for_lenders="Audit", tab="Data accesses"),
)
