"""The pages of the event feed: a list with filters, and a page for each event."""

import json
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode

from django.db.models import Max, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils import timezone

from config.core.errors import NotFound
from config.core.ids import get_by_uuid, queryable
from config.webhooks import endpoints
from config.webhooks.catalogue import event_types
from config.webhooks.events import event_body, event_document
from config.webhooks.models import Event
from config.webhooks.publishing import publish_account
from identity.developers.base import DeveloperPage, credential_of, page_of, parse_number
from identity.developers.deliveries import describe_delivery
from identity.developers.filters import EventPageFilter, EventPageQuery, FilteredPage

EVENTS_LOOKED_AT = 10_000  # the maximum number of events that a search without an index reads
DELIVERIES_MAX = 50


class EventsPage(FilteredPage):
    """The event feed, newest first, with filters by type, time, record, and request."""

    template_name = "developers/events.html"
    query_class = EventPageQuery

    def choices(self, request: HttpRequest) -> dict[str, Any]:  # noqa: ARG002
        return {"types": tuple(event_types())}

    def rows(self, request: HttpRequest, typed: dict[str, str]) -> dict[str, Any]:
        _query, wanted = self.read_query(typed)
        before, account_id = parse_number(typed.get("before", "")), credential_of(request).user_id
        about, request_id = typed.get("object", ""), typed.get("request_id", "")
        publish_account(account_id, now=timezone.now())
        below = before if isinstance(before, int) else None
        newest = newest_events(account_id, before=below, about=about, request_id=request_id, wanted=wanted)
        events, older = page_of(newest, 0)
        sent = {name: value for name, value in typed.items() if name in (*wanted, "object", "request_id")}
        return {
            "events": [{**event_document(event), "fields": _main_fields(event)} for event in events],
            "next_page": urlencode({**sent, "before": events[-1].sequence}) if older is not None else "",
            "first_page": urlencode(sent) if "before" in typed else "",
            "about": about,
            "request_id": request_id,
            "is_filtered": bool(sent),
        }


class EventPage(DeveloperPage):
    """An event with its body as receivers get it, and its deliveries."""

    template_name = "developers/event.html"
    tab = "developers_events"

    def facts(self, request: HttpRequest, **parts: str) -> dict[str, Any]:
        credential = credential_of(request)
        own = Event.objects.filter(account_id=credential.user_id, sequence__isnull=False)
        event = get_by_uuid(own, parts["event_id"], NotFound("Your account has no event with this id."))
        deliveries = endpoints.deliveries_of(credential).filter(event=event).select_related("endpoint")
        return {
            "event": event,
            "kind": event_types().get(event.type),
            "fields": _texts(event.object),
            "body": event_body(event).decode(),
            "deliveries": [describe_delivery(item) for item in deliveries.order_by("-id")[:DELIVERIES_MAX]],
        }


def _texts(fields: dict[str, Any]) -> dict[str, str]:
    """Return the value of each field as text: a string as it is, and any other value as JSON."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}


def _main_fields(event: Event) -> dict[str, str]:
    """Return the ids and the status of an event's object."""
    return {name: text for name, text in _texts(event.object).items() if name == "status" or name.endswith("_id")}


def newest_events(
    account_id: int, *, before: int | None = None, about: str = "", request_id: str = "", wanted: Any = None
) -> QuerySet[Event]:
    """Return an account's published events, newest first, optionally before a sequence number.

    `about` filters by a field of the event's object and its value (`application_id:0193…`). `request_id` filters by the
    request that caused the event. `wanted` has the values of EventPageFilter. All filters search only the latest
    EVENTS_LOOKED_AT events.
    """
    own = Event.objects.filter(account_id=account_id, sequence__isnull=False)
    if before is not None:
        own = own.filter(sequence__lt=before)
    if about or request_id or wanted:
        last = own.aggregate(last=Max("sequence"))["last"] or 0
        own = EventPageFilter(wanted, own.filter(sequence__gt=last - EVENTS_LOOKED_AT)).qs
    if request_id:
        own = own.filter(request_id=queryable(request_id))
    if about:
        name, _, value = queryable(about).partition(":")
        # The value is a string or a number.
        spelled = (f'"{name}":"{value}"', f'"{name}":{value},', f'"{name}":{value}}}')
        named = reduce(or_, (Q(text__contains=text) for text in spelled))
        own = own.annotate(text=Cast("object", TextField())).filter(named)
    return own.order_by("-sequence")
