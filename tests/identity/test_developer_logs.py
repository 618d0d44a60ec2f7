"""Test the request log, the events, and the outcomes of webhooks on the developer pages."""

import html
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from config.ops.models import RequestLine
from config.ops.request_log import first_id_at
from config.webhooks.events import event_body
from config.webhooks.models import DELIVERED, DISABLED, FAILING, Delivery, Endpoint, Event
from identity.access.models import OAuthClient, TokenFamily
from identity.developers.deliveries import ERRORS
from identity.developers.webhooks import RELOADS_MAX
from tests.documents import ROOT
from tests.identity.support import issue
from tests.identity.test_developers import URL, browser, press_button, read_page, strange_browser  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db
WEBHOOK = {"url": URL, "reach": "all", "description": "Mine"}


def line_of(user, **columns):
    columns = {"method": "GET", "route": "/v1/offers", "status": 200, "credential": "jwt:x", **columns}
    at = columns.pop("at", timezone.now())
    return RequestLine.objects.create(account_id=user.pk, duration_ms=3, request_id=uuid4(), at=at, **columns)


def rows_of(page):
    return re.findall(r'href="/developers/requests/([0-9a-f-]{36})"', page)


def attempt(status=None, error="status", at="2026-01-31T12:00:00.000000Z"):
    return {"at": at, "status_code": status, "error": error, "duration_ms": 12}


class TestRequests:
    def test_requests_page_filters_by_each_field(self, browser, user):  # noqa: F811
        noon = timezone.now().replace(year=2026, month=1, day=31, hour=12, minute=0, second=0, microsecond=0)
        route = "/v1/applications/{application_id}"
        line = line_of(user, credential="api_key:abc", method="POST", route=route, status=422, code="E4002", at=noon)
        for query, matches in (
            ("credential=api_key:abc", True), ("credential=api_key:ab", False), ("method=POST", True),
            ("code=e4002", True), ("code=%20E4002%20", True), ("code=E4003", False), ("status=4XX", True),
            ("method=GET", False), ("path=cations/{app", True), ("path=%25", False), ("status=422", True),
            ("status=4xx", True), ("status=5xx", False), ("since=2026-01-31T12:00", True),
            ("since=2026-01-31T12:01", False), ("until=2026-01-31T12:00", True),
            ("until=2026-01-31T11:59:59", False), ("since=2026-01-31T13:00:00%2B01:00", True),
            ("path=applications/nope", True), ("path=%20/v1/applications/nope/", True), ("path=offers/nope", False),
            ("status=%20422%20", True), (f"request_id=%20{line.request_id}%20", True),
            ("method=POST&status=4xx&path=applications&since=2026-01-31T00:00&until=2026-02-01T00:00", True),
        ):  # fmt: skip
            assert rows_of(read_page(browser, f"/requests?{query}")) == ([str(line.pk)] if matches else []), query

    def test_requests_page_retains_its_filters_on_the_next_page(self, browser, user):  # noqa: F811
        wanted = [line_of(user, status=404).pk for _ in range(60)]
        line_of(user)
        page = read_page(browser, "/requests?status=4xx&since=2026-01-01T00:00&limit=1")
        older = html.unescape(re.search(r'href="(\?[^"]*offset=50)"', page)[1])
        assert "status=4xx" in older
        second = read_page(browser, f"/requests{older}")
        assert {*rows_of(page), *rows_of(second)} == {str(pk) for pk in wanted}
        assert 'value="4xx"' in second
        assert 'value="2026-01-01T00:00"' in second
        assert "offset" not in re.search(r'href="(\?[^"]*)">Newest', second)[1]

    def test_requests_page_marks_an_invalid_filter(self, browser, user):  # noqa: F811
        line_of(user)
        for query in (
            "status=x", "status=9", "status=600", "status=4x", "method=FETCH", "since=soon", "until=2026-13-01T00:00",
            "since=2026-01-31", "since=2026-01-02T00:00&until=2026-01-01T00:00", "status=404,%20400",
            "request_id=x", "code=%00", "path=%00", "credential=" + "x" * 81,
        ):  # fmt: skip
            page = read_page(browser, f"/requests?{query}", 400)
            name = query.partition("=")[0]
            assert re.search(rf'id="{name}"[^>]* aria-invalid="true" aria-describedby="{name}-error"', page), query
            assert f'<a href="#{name}">' in page
            assert rows_of(page) == []
        for query in (
            "since=0001-01-01T00:00", "until=9999-12-31T23:59", "since=9999-12-31T23:59:59-23:59", "status=",
            "offset=x", "offset=99999999999999999999", "path=%F0%9F%98%80", "credential='", "unknown=1",
        ):  # fmt: skip
            assert browser.get(f"/developers/requests?{query}").status_code in {200, 400}, query

    def test_request_page_shows_the_stored_request_log_line(self, browser, user):  # noqa: F811
        key = issue(user).record
        line = line_of(
            user, credential=f"api_key:{key.pk}", method="POST", route="/v1/applications", status=400, code="E1001",
            failed_fields=["offer_id", "share"],
        )  # fmt: skip
        assert f'<option value="{line.credential}">test ({key.pk})</option>' in read_page(browser, "/requests")
        page = read_page(browser, f"/requests/{line.pk}")
        assert "POST /v1/applications</h1>" in page
        assert "400 Bad Request" in page
        assert f'<code class="copied">{line.request_id}</code>' in page
        assert 'The request is not valid. <a href="/docs/errors/E1001">Cause and fix</a>' in page
        assert "<code>offer_id</code>, <code>share</code>" in page
        assert f"<bdi>test</bdi></a>, <code>api_key:{key.pk}</code>" in page
        assert "3 ms" in page
        assert '<a href="/v1/docs/applications#applications_create">Apply to an offer</a>' in page
        assert "caused no event" in page
        Event.objects.update(request_id=str(line.request_id))
        event = Event.objects.get()
        assert f'<a href="/developers/events/{event.pk}">{event.type}</a>' in read_page(browser, f"/requests/{line.pk}")
        page = read_page(browser, f"/requests/{line_of(user, credential='api_key:gone', route='/v1/gone').pk}")
        assert "<dd><code>api_key:gone</code></dd>" in page
        assert "Operation" not in page

    def test_requests_page_shows_the_app_or_log_in_of_an_access_token(self, browser, strange_browser, user, stranger):  # noqa: F811
        app = OAuthClient.objects.create(name="Budget app", client_id="budget")
        for client, name in ((app, "Budget app"), (None, "Log-in")):
            family = TokenFamily.objects.create(user=user, client=client, created_at=timezone.now())
            line = line_of(user, credential=f"jwt:{family.pk}")
            assert f"<bdi>{name}</bdi>, <code>jwt:{family.pk}</code>" in read_page(browser, f"/requests/{line.pk}")
            assert f"<bdi>{name}</bdi></td>" in read_page(browser, "/requests")
        line = line_of(stranger, credential=f"jwt:{family.pk}")
        assert f"<dd><code>jwt:{family.pk}</code></dd>" in read_page(strange_browser, f"/requests/{line.pk}")

    def test_request_page_hides_old_requests_and_requests_of_other_accounts(self, browser, strange_browser, user):  # noqa: F811
        old = line_of(user, id=first_id_at(timezone.now() - timedelta(days=8)))
        read_page(browser, f"/requests/{old.pk}", 404)
        page = read_page(strange_browser, f"/requests/{line_of(user).pk}", 404)
        assert "/v1/offers" not in page
        for invalid in ("abc", "%00", uuid4()):
            read_page(strange_browser, f"/requests/{invalid}", 404)


class TestEvents:
    @pytest.fixture
    def event(self, browser, user):  # noqa: F811
        issue(user)
        read_page(browser, "/events")
        return Event.objects.get()

    def test_events_page_filters_by_type_and_time_and_marks_an_invalid_filter(self, browser, event):  # noqa: F811
        noon = event.created_at.replace(year=2026, month=1, day=31, hour=12, minute=0, second=0, microsecond=0)
        Event.objects.update(created_at=noon)
        for query, matches in (
            ("type=api_key.created", True), ("type=claim.created", False), ("since=2026-01-31T12:00", True),
            ("since=2026-01-31T12:01", False), ("until=2026-01-31T11:59", False),
            ("type=api_key.created&until=2026-01-31T12:00", True),
        ):  # fmt: skip
            page = read_page(browser, f"/events?{query}")
            assert (f"/developers/events/{event.pk}" in page) == matches, query
            assert ("No event matches" in page) != matches
        for query in ("type=no.such", "since=x", "until=%00", "since=2026-01-02T00:00&until=2026-01-01T00:00"):
            page = read_page(browser, f"/events?{query}", 400)
            assert f'<a href="#{query.partition("=")[0]}">' in page
            assert str(event.pk) not in page

    def test_events_page_retains_its_filters_on_the_next_page(self, browser, user):  # noqa: F811
        for _ in range(21):
            issue(user)
        page = read_page(browser, "/events?type=api_key.created")
        older = html.unescape(re.search(r'href="(\?[^"]*before=\d+)"', page)[1])
        assert older.startswith("?type=api_key.created&")
        assert "<option selected>api_key.created</option>" in read_page(browser, f"/events{older}")

    def test_event_page_shows_the_delivered_body_and_the_deliveries(self, browser, user):  # noqa: F811
        press_button(browser, "/webhooks", "add", **WEBHOOK)
        endpoint = Endpoint.objects.get()
        press_button(browser, f"/webhooks/{endpoint.pk}", "test")
        Delivery.objects.update(attempts=[attempt(error="timeout")])
        event = Event.objects.get(type="webhook.test")
        page = read_page(browser, f"/events/{event.pk}")
        assert event_body(event).decode() in page
        assert f'<a href="/developers/webhooks/{endpoint.pk}">{URL}</a>' in page
        assert "no response within 15 s" in page
        Endpoint.objects.update(deleted_at=timezone.now())
        assert f"{URL} (deleted)" in read_page(browser, f"/events/{event.pk}")

    def test_event_page_hides_events_of_other_accounts(self, strange_browser, event):  # noqa: F811
        for identifier in (event.pk, "abc", "%00", uuid4()):
            assert str(event.object) not in read_page(strange_browser, f"/events/{identifier}", 404)


class TestWebhooks:
    @pytest.fixture
    def path(self, browser):  # noqa: F811
        press_button(browser, "/webhooks", "add", **WEBHOOK)
        return f"/webhooks/{Endpoint.objects.get().pk}"

    def test_webhook_list_shows_the_last_failure_of_a_failing_webhook(self, browser, path):  # noqa: F811
        assert "Last failure" not in read_page(browser, "/webhooks")
        press_button(browser, path, "test")
        later = "2026-01-31T12:05:00.000000Z"
        attempts = [attempt(503), attempt(error="timeout", at=later)]
        Delivery.objects.update(attempts=attempts)
        assert "Last failure" not in read_page(browser, "/webhooks"), "the webhook is not failing"
        Endpoint.objects.update(failing_since=timezone.now())
        for page in ("/webhooks", path):
            assert "Last failure: no response within 15 s" in read_page(browser, page)
        Endpoint.objects.update(status=DISABLED, disabled_reason=FAILING)
        assert "Disabled because every attempt failed for 5 days" in read_page(browser, "/webhooks")

    def test_webhook_test_page_shows_the_outcome_after_automatic_reloads(self, browser, path):  # noqa: F811
        answer = browser.post(f"/developers{path}", {"do": "test"})
        sent = Delivery.objects.get()
        assert answer.headers["Location"] == f"/developers{path}?delivery={sent.pk}#outcome"
        address, number = f"{path}?delivery={sent.pk}", 0
        while refresh := re.search(r'<meta http-equiv="refresh" content="2;url=(\?[^"]+)#outcome">', page := read_page(
            browser, address
        )):  # fmt: skip
            address, number = f"{path}{refresh[1]}", number + 1
        assert number == RELOADS_MAX
        assert re.search(r"This page was loaded at \d\d:\d\d:\d\d UTC\. <a", page)
        Delivery.objects.update(attempts=[attempt(503)])
        page = read_page(browser, f"{path}?delivery={sent.pk}")
        assert "did not accept the event: HTTP 503 Service Unavailable." in page
        assert "The worker sends it again at" in page
        Delivery.objects.update(attempts=[attempt(200, None)], status=DELIVERED, due_at=None)
        page = read_page(browser, f"{path}?delivery={sent.pk}")
        assert "accepted the event: HTTP 200 OK" in page
        assert "refresh" not in page
        answer = browser.post(f"/developers{path}", {"do": "redeliver", "delivery_id": str(sent.pk)})
        assert str(Delivery.objects.get(is_redelivery=True).pk) in answer.headers["Location"]

    def test_outcome_page_of_an_unknown_webhook_delivery_returns_404(self, browser, path):  # noqa: F811
        for identifier in ("x", "%00", uuid4()):
            read_page(browser, f"{path}?delivery={identifier}", 404)
        press_button(browser, path, "test")
        delivery = Delivery.objects.get().pk
        press_button(browser, "/webhooks", "add", **{**WEBHOOK, "url": f"{URL}/2"})
        other = Endpoint.objects.exclude(pk=Delivery.objects.get(pk=delivery).endpoint_id).get()
        read_page(browser, f"/webhooks/{other.pk}?delivery={delivery}", 404)
        assert browser.get(f"/developers{path}?delivery={delivery}&reloads=-1").status_code == 200

    def test_every_documented_delivery_error_is_described_in_words(self):
        text = (ROOT / "docs/guides/webhooks.md").read_text()
        table = re.search(r"## Delivery errors\n(.*?)\n## ", text, re.DOTALL)[1]
        words = {
            word for row in re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)
        }
        assert words - {"error"} == set(ERRORS)
