"""Test that the pages under `/developers` use the services of the API, only for the account's own records."""

import html
import re
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from config.core.log_in import SECOND_FACTOR
from config.ops.models import RequestLine
from config.ops.request_log import LOG
from config.webhooks.events import event_body
from config.webhooks.models import DISABLED, ENABLED, Delivery, Endpoint, Event
from identity.access.keys import offer_successor
from identity.models import AccountHistory, ApiKey, OAuthClient
from tests.api import ApiClient, client_of
from tests.identity.oauth_support import REDIRECT
from tests.identity.support import issue
from tests.second_factors import authenticator_of

pytestmark = pytest.mark.django_db
PAGES = ["", "/keys", "/clients", "/webhooks", "/events", "/requests"]
URL = "https://receiver.example/hook"
KEY = {"name": "shop", "reach": "some", "scopes": ["offers:read"], "expires_days": "30"}


def browser_of(person):
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def browser(user):
    return browser_of(user)


@pytest.fixture
def strange_browser(stranger):
    return browser_of(stranger)


def text_of(answer, status=200):
    assert answer.status_code == status, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    return html.unescape(" ".join(answer.content.decode().split()))


def press_button(browser, path, do, status=200, **fields):
    return text_of(browser.post(f"/developers{path}", {"do": do, **fields}, follow=True), status)


def read_page(browser, path, status=200):
    return text_of(browser.get(f"/developers{path}"), status)


def secret_in(page, start):
    return re.search(rf"{start}[\w+/=-]+", page)[0]


def made_key(browser, **fields):
    return press_button(browser, "/keys", "make", **{**KEY, **fields})


def test_developer_pages_redirect_anonymous_visitors_to_the_log_in():
    for path in PAGES:
        answer = Client().get(f"/developers{path}")
        assert answer.headers["Location"].startswith("/account/login?next=/developers"), path


def test_developer_pages_run_only_the_copy_script_and_reject_unknown_buttons(browser):
    for path in PAGES:
        assert "Reload the page, and try again" in press_button(browser, path, "facts", 400)
        page = read_page(browser, path)
        assert page.count("<script") == page.count('/identity/copy.js" defer') == 1, path
        assert page.count("<h1") == 1, path


class TestKeys:
    def test_api_key_created_on_the_page_is_shown_once_and_works(self, browser):
        page = made_key(browser)
        key = secret_in(page, "ck_test_")
        assert ApiClient(api_key=key).read("/auth/me").json()["scopes"] == ["offers:read"]
        (record,) = ApiKey.objects.all()
        assert record.secret in page
        assert "was already completed" in read_page(browser, "/secret")
        again = read_page(browser, "/keys")
        assert record.pk in again
        assert key not in again
        assert record.secret not in again
        assert not [item for item in Session.objects.all() if key in str(item.get_decoded())]
        assert "Permissions: <code>offers:read</code>" in page
        assert "all your rights" in made_key(browser, reach="all", scopes=[], name="everything")
        assert ApiKey.objects.exclude(pk=record.pk).get().scopes is None, "it may do everything"

    def test_api_keys_created_in_two_tabs_are_both_shown(self, browser):
        for name in ("first", "second"):
            browser.post("/developers/keys", {"do": "make", **KEY, "name": name})
        browser.head("/developers/secret")
        pages = [read_page(browser, "/secret") for _ in range(3)]
        assert [name in page for name, page in zip(("“first”", "“second”", "Already"), pages, strict=True)] == [
            True
        ] * 3
        assert "Show the next secret" in pages[0]

    def test_api_key_page_rejects_the_same_values_as_the_api(self, browser):
        for fields in ({"name": ""}, {"scopes": []}, {"scopes": ["x"]}, {"expires_days": "soon"}):
            page = press_button(browser, "/keys", "make", 400, **{**KEY, **fields})
            assert "E1001" in page
            assert ("Check at least one scope" in page) == (fields == {"scopes": []})
        page = press_button(browser, "/keys", "make", 400, **{**KEY, "reach": "all"})
        assert "The key would have all your rights." in page
        assert 'value="offers:read" checked' in page
        assert not ApiKey.objects.exists()

    def test_api_key_page_can_rotate_a_key_with_overlap_and_revoke_a_key(self, browser):
        old = secret_in(made_key(browser), "ck_test_")
        first = ApiKey.objects.get()
        page = press_button(browser, "/keys", "rotate", key_id=first.pk, grace_days="2")
        assert "The previous key works until" in page
        new = secret_in(page, "ck_test_")
        assert [ApiClient(api_key=item).read("/auth/me").status_code for item in (old, new)] == [200, 200]
        assert "was revoked" in press_button(browser, "/keys", "revoke", key_id=first.pk)
        assert [ApiClient(api_key=item).read("/auth/me").status_code for item in (old, new)] == [401, 200]
        assert {item.credential for item in AccountHistory.objects.all()} == {"session:developers"}

    def test_api_key_page_distinguishes_a_key_from_its_successor(self, browser):
        made_key(browser)
        old = ApiKey.objects.get()
        fresh = offer_successor(old, now=timezone.now(), grace_days=2)
        page = read_page(browser, "/keys")
        assert '<bdi>shop</bdi> <span class="standing">Old key</span>' in page
        assert '<bdi>shop</bdi> <span class="standing due">New key</span>' in page
        assert f"Replaced by <code>{fresh.pk}</code>" in page
        assert f'Collect<span class="unseen"> <bdi>shop</bdi> <code>{fresh.pk}</code></span>' in page
        assert "The old key then works for 2 more days." in page

    def test_api_key_page_of_another_account_returns_404(self, browser, strange_browser):
        made_key(browser)
        key = ApiKey.objects.get()
        assert key.pk not in read_page(strange_browser, "/keys")
        for do in ("rotate", "revoke", "collect"):
            press_button(strange_browser, "/keys", do, 404, key_id=key.pk, grace_days="2")
        assert ApiKey.objects.get().revoked_at is None


class TestClients:
    FIELDS = {"name": "Budget app", "redirect_uris": REDIRECT, "scopes": ["offers:read"]}

    def test_oauth_client_page_creates_changes_and_deletes_a_client(self, browser):
        assert "“you” is the user who allows access" in read_page(browser, "/clients")
        page = press_button(browser, "/clients", "make", **self.FIELDS)
        client = OAuthClient.objects.get()
        assert '<a href="/developers/clients" aria-current="true">' in page
        assert client.client_id in page
        assert (client.is_public, client.addresses, client.scopes) == (False, [REDIRECT], ["offers:read"])
        path = f"/clients/{client.client_id}"
        first = re.search(r"Client secret</dt><dd><code>([\w-]+)", page)[1]
        second = re.search(r"Client secret</dt><dd><code>([\w-]+)", press_button(browser, path, "rotate"))[1]
        assert first != second
        page = read_page(browser, path)
        assert second not in page
        assert "<summary>Create a new secret</summary>" in page
        assert "<p>The old secret becomes invalid immediately." in page
        two = f"{REDIRECT}\n{REDIRECT}/2"
        press_button(browser, path, "change", name="Other", redirect_uris=two, scopes=["offers:read", "identity:read"])
        client.refresh_from_db()
        assert (client.name, client.addresses, len(client.scopes)) == ("Other", two.split(), 2)
        press_button(browser, path, "remove")
        assert not OAuthClient.objects.exists()

    def test_confidential_oauth_client_page_links_to_its_consent_page_below_app_url(self, browser, settings):
        assert "#consent" in press_button(browser, "/clients", "make", **self.FIELDS)
        client = OAuthClient.objects.get()
        page = read_page(browser, f"/clients/{client.client_id}")
        address = html.unescape(re.search(r'href="([^"]+/oauth/authorize[^"]+)"', page)[1])
        consent = browser.get(address.removeprefix(settings.HOST_ROOT)).content.decode()
        assert "requests to act on your behalf" in consent
        assert f"<code>POST {settings.BASE_URL}/oauth/token</code>" in page
        settings.APP_URL = "https://app.example"
        page = read_page(browser, f"/clients/{client.client_id}")
        assert "https://app.example/oauth/authorize?response_type=code" in page
        page = press_button(browser, "/clients", "make", **{**self.FIELDS, "name": "Phone app"}, public="yes")
        assert "Client secret" not in page
        path = f"/clients/{OAuthClient.objects.get(name='Phone app').client_id}"
        assert "E3004" in press_button(browser, path, "rotate", 400)
        assert "Add your <code>code_challenge</code>." in read_page(browser, path)
        assert "Open the consent page" not in read_page(browser, path)

    def test_oauth_client_page_of_another_account_returns_404(self, browser, strange_browser):
        press_button(browser, "/clients", "make", **self.FIELDS)
        path = f"/clients/{OAuthClient.objects.get().client_id}"
        read_page(strange_browser, path, 404)
        for do in ("change", "rotate", "remove"):
            press_button(strange_browser, path, do, 404, **self.FIELDS)
        assert OAuthClient.objects.get().name == "Budget app"


class TestWebhooks:
    FIELDS = {"url": URL, "reach": "all", "description": "Mine"}

    @pytest.fixture
    def path(self, browser):
        self.page = press_button(browser, "/webhooks", "add", **self.FIELDS)
        return f"/webhooks/{Endpoint.objects.get().pk}"

    def test_webhook_page_shows_a_new_secret_once_and_each_step_of_a_rotation(self, browser, path):
        secret = Endpoint.objects.get().secret
        assert secret in self.page
        assert secret not in read_page(browser, path) + read_page(browser, "/webhooks")
        page = press_button(browser, path, "rotate", grace_hours="2")
        endpoint = Endpoint.objects.get()
        assert endpoint.secret in page
        assert "The receiver has accepted no test yet" in read_page(browser, path)
        Endpoint.objects.update(secret_proven=True)
        assert "The receiver accepted a test" in read_page(browser, path)
        assert "E1001" in press_button(browser, path, "rotate", 400, grace_hours="169")

    def test_webhook_page_sends_test_events_and_shows_the_attempts(self, browser, path):
        assert '<a href="/developers/webhooks" aria-current="true">' in read_page(browser, path)
        assert '<a href="/developers/webhooks" aria-current="page">' in read_page(browser, "/webhooks")
        assert "webhook fails" not in read_page(browser, "")
        Endpoint.objects.update(failing_since=timezone.now())
        assert "1 webhook fails." in read_page(browser, "")
        assert "is being sent" in press_button(browser, path, "test")
        sent = Delivery.objects.get()
        attempt = {"at": "2026-01-31T12:00:00.000000Z", "status_code": 503, "error": "status", "duration_ms": 12}
        Delivery.objects.update(attempts=[attempt])
        page = read_page(browser, path)
        assert "webhook.test" in page
        assert '<strong class="standing bad">Retrying</strong>' in page
        assert "31 Jan, 12:00:00: HTTP 503 Service Unavailable, 12\N{NO-BREAK SPACE}ms" in page
        assert event_body(sent.event).decode() in page
        press_button(browser, path, "redeliver", delivery_id=str(sent.pk))
        assert Delivery.objects.filter(event_id=sent.event_id, is_redelivery=True).count() == 1

    def test_webhook_page_changes_disables_enables_and_deletes_a_webhook(self, browser, path):
        some = {**self.FIELDS, "reach": "some"}
        press_button(browser, path, "change", **some, event_types=["webhook.test", "claim.created"])
        assert Endpoint.objects.get().event_types == ["webhook.test", "claim.created"]
        assert read_page(browser, path).count('" checked> <span><code>') == 2
        assert "E1001" in press_button(browser, path, "change", 400, **some, event_types=["no.such"])
        page = press_button(browser, path, "change", 400, **some)
        assert "E1001" in page
        assert 'value="some" checked' in page
        for do, status in (("disable", DISABLED), ("enable", ENABLED)):
            press_button(browser, path, do)
            assert Endpoint.objects.get().status == status
        press_button(browser, path, "remove")
        read_page(browser, path, 404)

    def test_webhook_page_of_another_account_or_with_an_invalid_id_returns_404(self, browser, strange_browser, path):
        press_button(browser, path, "test")
        read_page(strange_browser, path, 404)
        delivery = str(Delivery.objects.get().pk)
        for do in ("test", "redeliver", "rotate", "change", "disable", "enable", "remove"):
            press_button(strange_browser, path, do, 404, **self.FIELDS, delivery_id=delivery, grace_hours="1")
            press_button(browser, "/webhooks/abc", do, 404, **self.FIELDS, delivery_id="x", grace_hours="1")
        assert (Endpoint.objects.get().status, Delivery.objects.count()) == (ENABLED, 1)


class TestEvents:
    def test_events_page_lists_own_events_newest_first_and_filters_by_object_and_request(
        self, browser, strange_browser, user
    ):
        first, second = issue(user).record, issue(user).record
        page = read_page(browser, "/events")
        assert page.index(second.pk) < page.index(first.pk)
        about = read_page(browser, f"/events?object=api_key_id:{first.pk}")
        assert first.pk in about
        assert second.pk not in about
        assert "No event matches" in read_page(strange_browser, f"/events?object=api_key_id:{first.pk}")
        for invalid in ("object=%00", "object=a%25b:'", "request_id=%00", "before=x", "object=:"):
            read_page(browser, f"/events?{invalid}")
        assert first.pk not in read_page(browser, "/events?before=1")
        answer = client_of(user).send("/api-keys", {"name": "n"})
        of_request = read_page(browser, f"/events?request_id={answer.headers['X-Request-Id']}")
        assert answer.json()["id"] in of_request
        assert first.pk not in of_request
        Event.objects.update(object={"tx_hash": None, "is_default": True, "payment_id": 7})
        page = read_page(browser, f"/events/{Event.objects.first().pk}")
        assert all(f"<code>{value}</code>" in page for value in ("null", "true", "7"))


class TestRequests:
    def test_requests_page_finds_a_rejected_request_of_the_account_by_id(self, browser, strange_browser, user):
        issued = issue(user)
        answer = ApiClient(api_key=issued.key).read(f"/applications/{uuid4()}")
        LOG.flush()
        page = read_page(browser, f"/requests?status=&code=E4002&request_id={answer.json()['request_id']}")
        assert "/v1/applications/{application_id}" in page
        assert 'Application not found. <a href="/docs/errors/E4002">E4002: cause and fix</a>' in page
        assert '<td data-label="Credential"><bdi>test</bdi></td>' in page
        for path in ("", "/requests"):
            assert "GET /v1/applications/{application_id}" in read_page(browser, path)
            assert "GET /v1/applications" not in read_page(strange_browser, path)
        for query in ("status=x", "status=9", "request_id=x", "offset=-1", "code=%00", "route=" + "x" * 161):
            assert "E10" in read_page(browser, f"/requests?{query}", 400)

    def test_requests_page_executes_at_most_9_sql_statements(self, browser, user, django_assert_max_num_queries):
        for number in range(120):
            RequestLine.objects.create(
                account_id=user.pk, credential="jwt:x", method="GET", route=f"/v1/{number}", status=200, duration_ms=1,
                request_id=uuid4(), at=timezone.now(),
            )  # fmt: skip
        with django_assert_max_num_queries(9):
            page = read_page(browser, "/requests")
        assert "?offset=50" in page
        assert "/v1/10<" in read_page(browser, "/requests?offset=100")


class TestSecondFactor:
    def test_developer_pages_require_the_second_factor_for_the_same_actions_as_the_api(self, browser, user):
        made_key(browser)
        key = ApiKey.objects.get()
        authenticator = authenticator_of(user)
        for path, do in (("/keys", "make"), ("/keys", "rotate"), ("/keys", "revoke"), ("/clients", "make")):
            fields = {**TestClients.FIELDS, "expires_days": "3", "key_id": key.pk, "grace_days": "1"}
            answer = browser.post(f"/developers{path}", {"do": do, **fields})
            assert answer.headers["Location"] == f"/account/second-factor/confirm?next=/developers{path}"
        assert ApiKey.objects.get().revoked_at is None
        session = browser.session
        session[SECOND_FACTOR] = getattr(authenticator, "pk", None) or user.authenticator_set.get().pk
        session.save()
        assert "ck_test_" in made_key(browser, name="second")


def test_developer_forms_count_toward_the_rate_limit(browser, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 0}
    answer = browser.post("/developers/keys", {"do": "make"})
    assert answer.status_code == 429
    assert answer.headers["Retry-After"]
