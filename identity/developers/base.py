"""Base classes and helpers of the developer pages: access, forms, and errors."""

from collections.abc import Sequence
from datetime import datetime
from http.client import responses
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import redirect_to_login
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import date_format
from django.views.generic import View

from config.api.rate_limits import consume
from config.core.credentials import SAFE_METHODS, Credential
from config.core.errors import ApiError, ValidationFailed
from config.core.lifecycle import Actor, SecondFactorRequired
from config.core.log_in import gave_second_factor
from identity.access.second_factor import has_one

ROWS = 20
# The labels of the forms' fields. A field of the API can have another name in a form.
LABELS = {
    "name": "Name", "scopes": "Scopes", "expires_days": "Lifetime in days", "grace_days": "Grace period, in days",
    "redirect_uris": "Redirect addresses", "url": "Address of your receiver", "event_types": "Event types",
    "description": "Purpose", "grace_hours": "Grace period, in hours", "credential": "Credential", "method": "Method",
    "path": "Path", "status": "Status", "code": "Error code", "request_id": "Request id", "since": "From",
    "until": "To", "type": "Type", "object": "Record",
}  # fmt: skip
_NAMES_IN_FORMS = {"grace_seconds": "grace_hours"}
_SECRETS = "developers_secrets"  # the key in the session
TABS = (
    ("developers", "Overview"), ("developers_keys", "API keys"), ("developers_clients", "OAuth clients"),
    ("developers_webhooks", "Webhooks"), ("developers_events", "Events"), ("developers_requests", "Requests"),
)  # fmt: skip


def credential_of(request: HttpRequest) -> Credential:
    """Return a credential for the services. It identifies the account that is logged in to the session."""
    person: Any = request.user
    return Credential("session", "developers", person.pk, second_factor=gave_second_factor(request))


def actor_on(request: HttpRequest) -> Actor:
    credential = credential_of(request)
    return Actor(user=request.user, credential=credential.label, second_factor=credential.second_factor)


def parse_number(text: str) -> int | str:
    """Parse a number. A string that is not a number is returned unchanged, and the serializer then rejects it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def page_of(rows: QuerySet[Any], offset: int, limit: int = ROWS) -> tuple[Sequence[Any], int | None]:
    """Return a page of ordered rows, and the offset of the next page, or None on the last page."""
    rows_read = list(rows[offset : offset + limit + 1])
    return rows_read[:limit], offset + limit if len(rows_read) > limit else None


def moment_text(moment: datetime) -> str:
    """Format a time for these pages: `31 January 2026, 12:00 UTC`."""
    return f"{date_format(moment, 'j F Y, H:i')} UTC"


def problems_of(error: ApiError, record_id: str = "") -> dict[str, dict[str, str]]:
    """Return the invalid fields of a form by name, each with its label, its message, and the id of its element.

    If a list has a form for each row, the ids of the elements contain the row's `record_id`.
    """
    problems: dict[str, dict[str, str]] = {}
    for entry in error.details if isinstance(error.details, list) else ():
        sent = entry.get("field", "").lstrip("/").replace("/", ".").partition(".")[0]
        name = _NAMES_IN_FORMS.get(sent, sent)
        if name in LABELS and name not in problems:
            anchor = f"{name}-{record_id}" if record_id else name
            problems[name] = {"label": LABELS[name], "message": entry["message"], "anchor": anchor}
    return problems


def phrase_of(status: int) -> str:
    """Return the name of an HTTP status, such as `Not Found`, or an empty string."""
    return responses.get(status, "")


def offset_in(request: HttpRequest) -> int:
    offset = parse_number(request.GET.get("offset", "0"))
    return offset if isinstance(offset, int) else 0


class _Limited(View):
    """Apply the API's rate limits, and show API errors as a page."""

    def dispatch(self, request: HttpRequest, *args: Any, **parts: Any) -> HttpResponseBase:
        try:
            consume("read" if request.method in SAFE_METHODS else "write", str(request.user.pk))
            return super().dispatch(request, *args, **parts)
        except ApiError as refusal:
            facts = {"error": refusal, "tabs": TABS}
            page = render(request, "developers/refused.html", facts, status=refusal.status)
            for name, value in refusal.headers.items():
                page.headers[name] = value
            return page


class DeveloperPage(LoginRequiredMixin, _Limited):
    """A page with forms. Each button posts the field `do`, which selects a method from `buttons`.

    The method returns a response, or a message. After a message, the page is shown again.
    """

    template_name: ClassVar[str]
    buttons: ClassVar[Sequence[str]] = ()
    tab: ClassVar[str] = ""  # the URL name of the tab that contains this page; empty on the page of a tab

    def facts(self, request: HttpRequest, **parts: str) -> dict[str, Any]:  # noqa: ARG002
        return {}

    def get(self, request: HttpRequest, **parts: str) -> HttpResponse:
        return self.show(request, self.facts(request, **parts))

    def show(self, request: HttpRequest, facts: dict[str, Any], status: int = 200) -> HttpResponse:
        name = request.resolver_match.url_name if request.resolver_match else ""
        frame = {"tabs": TABS, "tab": self.tab or name, "is_tab": not self.tab}
        return render(request, self.template_name, {**frame, **facts}, status=status)

    def post(self, request: HttpRequest, **parts: str) -> HttpResponseBase:
        name = request.POST.get("do", "")
        try:
            if name not in self.buttons:
                raise ValidationFailed("Nothing was changed. Reload the page, and try again.")
            answer = getattr(self, name)(request, **parts)
        except SecondFactorRequired:
            way = reverse("mfa_reauthenticate" if has_one(request.user) else "mfa_index")
            return redirect_to_login(request.path_info, way)
        except ApiError as refusal:
            problems = problems_of(refusal, request.POST.get("key_id", ""))
            tried = {"error": refusal, "problems": problems, "given": request.POST, "pressed": name}
            return self.show(request, {**self.facts(request, **parts), **tried}, refusal.status)
        if isinstance(answer, HttpResponseBase):
            return answer
        messages.success(request, answer)
        return HttpResponseRedirect(request.path_info)


class SecretPage(DeveloperPage):
    """Show secrets once after the redirect of a form, so that reloading the page doesn't create another secret."""

    template_name = "developers/secret.html"

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        waiting = request.session.get(_SECRETS, [])
        if request.method == "HEAD" or not waiting:
            return {"title": "Already shown"}
        shown, *others = waiting  # each page view shows one set of secrets
        request.session[_SECRETS] = others
        tab = next((name for name, _words in TABS if reverse(name) == shown["back"]), "")
        return {**shown, "others": len(others), "tab": tab, "is_tab": False}


def show_secrets(request: HttpRequest, title: str, secrets: dict[str, str | None], **facts: Any) -> HttpResponse:
    """Redirect to the page that shows the secrets once. Until then, the encrypted session stores them.

    `facts` contains further JSON values for the page.
    """
    known = {name: secret for name, secret in secrets.items() if secret is not None}
    waiting = request.session.get(_SECRETS, [])
    request.session[_SECRETS] = [*waiting, {"title": title, "secrets": known, **facts}]
    return HttpResponseRedirect(reverse("developers_secret"))
