from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from config.ops.request_log import GROUPED_MAX, KEPT_DAYS, groups_of, lines_of
from config.ops.serializers import RequestFilter, RequestQuery
from config.webhooks.endpoints import endpoints_of
from identity.access import own_keys
from identity.developers.base import DeveloperPage, credential_of, page_of
from identity.oauth.own_clients import clients_of

_GROUPS_SHOWN = 50
_LINES_SHOWN = 50


class Overview(DeveloperPage):
    template_name = "developers/overview.html"

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        person: Any = request.user
        now = timezone.now()
        usable = own_keys.keys_of(person).usable_at(now)
        groups = groups_of(person.pk, now=now)
        return {
            "keys": usable.count(),
            "clients": clients_of(person).count(),
            "webhooks": endpoints_of(credential_of(request)).count(),
            "requests": sum(group["number"] for group in groups),
            "errors": [group for group in groups if group["status"] >= 400][:5],
            "base_url": settings.BASE_URL,
            "is_production": settings.PRODUCTION,
        }


class RequestsPage(DeveloperPage):
    template_name = "developers/requests.html"

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        asked = QueryDict(mutable=True)
        for name in request.GET:
            value = request.GET.get(name, "")
            if value and name != "limit":  # a field of the form that was left empty
                asked[name] = str(value)
        query = RequestQuery.read(asked)
        offset = query["offset"]
        wanted = {name: value for name, value in query.items() if name in RequestQuery.filters()}
        person: Any = request.user
        now = timezone.now()
        own = RequestFilter(wanted, lines_of(person.pk, now=now)).qs
        lines, older = page_of(own, offset, _LINES_SHOWN)
        groups = groups_of(person.pk, now=now)
        used = {line.credential.removeprefix("api_key:") for line in lines}
        names = dict(own_keys.keys_of(person).filter(pk__in=used).values_list("pk", "name"))
        return {
            "lines": [(line, names.get(line.credential.removeprefix("api_key:"), "")) for line in lines],
            "groups": groups[:_GROUPS_SHOWN],
            "grouped": sum(group["number"] for group in groups),
            "grouped_max": GROUPED_MAX,
            "days": KEPT_DAYS,
            "wanted": wanted,
            "next_page": urlencode({**wanted, "offset": older}) if older is not None else "",
        }
