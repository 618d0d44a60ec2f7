from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from config.api.log_in import LimitedLogIn, show_refusal
from config.backoffice import second_factor
from config.backoffice.charts import charts_of
from config.backoffice.queues import states_of

# Their own admins show access tokens and the secrets of second factors as plain fields.
PACKAGES_KEPT_OUT = frozenset({"oauth2_provider", "django_otp"})


class BackOfficeLogInForm(LimitedLogIn, AdminAuthenticationForm):
    """The user name and the password of somebody on the staff."""


class BackOfficeSite(AdminSite):
    login_form = BackOfficeLogInForm
    site_title = "Back office"
    index_title = "What needs you now"
    site_url = None  # there is no website behind this, only an interface

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), "site_header": settings.PROVIDER_NAME}

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register as Django does, but for pages of packages that would show or edit secrets."""
        if admin_class is not None and admin_class.__module__.partition(".")[0] in PACKAGES_KEPT_OUT:
            return
        super().register(model_or_iterable, admin_class, **options)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Wrap a view as Django does; a refusal, or an address of nothing, gets a page with a way back."""
        inner: Callable[..., HttpResponse] = super().admin_view(view, cacheable)

        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
            try:
                return inner(request, *args, **options)
            except PermissionDenied:
                status, title, text = 403, "Not yours", "Your groups do not include this."
            except DisallowedModelAdminLookup:
                status, title, text = 400, "No such filter", "This list offers no such filter. That you asked is kept."
            except Http404:
                status, title, text = 404, "Nothing here", "There is no page at this address."
            context = {**self.each_context(request), "title": title, "text": text}
            return render(request, "backoffice/refused.html", context, status=status)

        return answer

    def has_permission(self, request: HttpRequest) -> bool:
        """Let in active staff who have given their second factor, where one is asked for."""
        is_given = not settings.BACKOFFICE_SECOND_FACTOR or second_factor.is_given(request)
        return super().has_permission(request) and is_given

    def get_urls(self) -> list[Any]:
        """Add the page of the second factor; leave out the way to a record's page on a website, which there is not."""
        pages = [page for page in super().get_urls() if getattr(page, "name", None) != "view_on_site"]
        return [path("second-factor/", never_cache(self.second_factor), name="second_factor"), *pages]

    def second_factor(self, request: HttpRequest) -> HttpResponse:
        return second_factor.second_factor_view(request, self.each_context(request))

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Ask for the password; whoever has given that is led on to the second factor."""
        if super().has_permission(request) and not self.has_permission(request):
            wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
            query = f"?{urlencode({REDIRECT_FIELD_NAME: wanted})}" if wanted else ""
            return HttpResponseRedirect(reverse(f"{self.name}:second_factor") + query)
        response: Any = super().login(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        return show_refusal(response, getattr(form, "refusal", None))

    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        cards = sorted(states_of(request.user), key=lambda state: state.count == 0)
        context = {"cards": cards, "charts": charts_of(request.user), **(extra_context or {})}
        return super().index(request, context)
