"""The pages of the request log: a list with filters, and a page for each request."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone

from config.api.reference_pages import operation_at
from config.core.errors import ApiError, NotFound
from config.core.ids import get_by_uuid, parse_uuid
from config.ops.request_log import GROUPED_MAX, KEPT_DAYS, groups_of, lines_of
from config.ops.serializers import METHOD_CHOICES
from config.webhooks.publishing import publish_account
from identity.access import keys
from identity.access.models import TokenFamily
from identity.developers.base import DeveloperPage, page_of, phrase_of
from identity.developers.events import newest_events
from identity.developers.filters import (
    STATUS_CLASSES,
    FilteredPage,
    RequestPageFilter,
    RequestPageQuery,
)

LINES = 50
EVENTS_MAX = 20
_KEY = "api_key:"
_JWT = "jwt:"


class RequestsPage(FilteredPage):
    template_name = "developers/requests.html"
    query_class = RequestPageQuery

    def choices(self, request: HttpRequest) -> dict[str, Any]:
        chosen = request.GET.get("credential", "")
        # Several keys can have the same name.
        own = {f"{_KEY}{key.pk}": f"{key.name} ({key.pk})" for key in keys.keys_of(request.user)[: 2 * keys.KEYS_MAX]}
        return {
            "credentials": own if not chosen or chosen in own else {**own, chosen: chosen},
            "methods": METHOD_CHOICES,
            "status_classes": STATUS_CLASSES,
            "days": KEPT_DAYS,
        }

    def rows(self, request: HttpRequest, typed: dict[str, str]) -> dict[str, Any]:
        query, wanted = self.read_query(typed)
        person: Any = request.user
        now = timezone.now()
        own = RequestPageFilter(wanted, lines_of(person.pk, now=now)).qs
        lines, older = page_of(own, query["offset"], LINES)
        groups = [] if wanted else groups_of(person.pk, now=now)
        names = _credential_names(request, lines)
        sent = {name: typed[name] for name in wanted}
        return {
            "lines": [(line, names.get(line.credential, "")) for line in lines],
            "groups": groups[:50],
            "grouped": sum(group["number"] for group in groups),
            "grouped_max": GROUPED_MAX,
            "wanted": wanted,
            "meanings": {code: message_of(code) for code in sorted({line.code for line in lines})} if wanted else {},
            "next_page": urlencode({**sent, "offset": older}) if older is not None else "",
            "first_page": urlencode(sent) if query["offset"] else "",
        }


class RequestPage(DeveloperPage):
    """A request: everything that the log stores about it, and the events that it caused."""

    template_name = "developers/request.html"
    tab = "developers_requests"

    def facts(self, request: HttpRequest, **parts: str) -> dict[str, Any]:
        person: Any = request.user
        missing = NotFound(f"The log has no such request of your account in the last {KEPT_DAYS} days.")
        now = timezone.now()
        line = get_by_uuid(lines_of(person.pk, now=now), parts["line_id"], missing)
        publish_account(person.pk, now=now)
        return {
            "line": line,
            "phrase": phrase_of(line.status),
            "message": message_of(line.code),
            "credential_name": _credential_names(request, [line]).get(line.credential, ""),
            "operation": operation_at(line.method, line.route),
            "events": newest_events(person.pk, request_id=str(line.request_id))[:EVENTS_MAX],
        }


def message_of(code: str) -> str:
    """Return the message of an error code that this service defines, otherwise an empty string."""
    return ApiError.registry[code].message if code in ApiError.registry else ""


def _credential_names(request: HttpRequest, lines: Any) -> dict[str, str]:
    """Return the names of the account's keys, log-ins, and apps with which requests were sent, by credential."""
    person: Any = request.user
    credentials = {line.credential for line in lines}
    used = {text.removeprefix(_KEY) for text in credentials if text.startswith(_KEY)}
    named = keys.keys_of(person).filter(pk__in=used).values_list("pk", "name")
    tokens = [text.removeprefix(_JWT) for text in credentials if text.startswith(_JWT)]
    families = TokenFamily.objects.filter(user_id=person.pk, pk__in=filter(None, map(parse_uuid, tokens)))
    return {f"{_KEY}{pk}": name for pk, name in named} | {
        f"{_JWT}{pk}": app or "Log-in" for pk, app in families.values_list("pk", "client__name")
    }
