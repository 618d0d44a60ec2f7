"""Test the endpoints that list, return, and deliver notices of an application or a lender."""

import json
import sys
from datetime import timedelta
from hashlib import sha256
from types import SimpleNamespace

import pytest
from django.utils import timezone

from config.api import heavy
from config.core.casework import DataAccess
from config.webhooks.models import Event
from credit.api.printing import pdf_of
from credit.core.figures import reference_of
from credit.models import Clock, Consent, DecisionAnchor, Delivery
from credit.notices import services
from tests.api import assert_error, client_of
from tests.credit.notices.test_table import REPORT, SCORE
from tests.credit.notices.world import ADDRESS, World
from tests.credit.support import key_of

pytestmark = pytest.mark.django_db
PRINTER = """
import re


class HTML:
    def __init__(self, string, base_url, url_fetcher):
        self.string, self.fetcher = string, url_fetcher

    def write_pdf(self):
        return " ".join(filter(None, map(self.read, re.findall('src="([^"]+)"', self.string)))).encode()

    def read(self, url):
        try:
            return self.fetcher.fetch(url)
        except ValueError:
            return ""
"""
FETCHER = """
class URLFetcher:
    def __init__(self, allowed_protocols=None):
        self.allowed = allowed_protocols

    def fetch(self, url, headers=None):
        if self.allowed is not None and url.partition(":")[0] not in self.allowed:
            raise ValueError(url)
        return url
"""


@pytest.fixture
def world(db):
    """Return an application that was rejected within the last days, with its created notice."""
    recent_world = _recent()
    recent_world.reject(5)
    recent_world.issue(6)
    return recent_world


def _recent():
    created = World(start=timezone.now() - timedelta(days=10))
    created.offer.provider.created_at = created.start - timedelta(days=1)
    created.offer.provider.save()
    created.submit(0)
    return created


@pytest.fixture
def consumer(world):
    return client_of(world.consumer.user)


@pytest.fixture
def lender(world):
    return client_of(world.lender.user)


def path(world, *parts):
    return "/".join((f"/applications/{world.pk}/notices", *map(str, parts)))


def notice_path(world, *parts):
    return path(world, world.notice.pk, *parts)


def handed_over(world, **members):
    at = world.at(8).isoformat().replace("+00:00", "Z")
    return {"channel": "post", "at": at, "reference": "RR 1", **members}


class TestReadNotices:
    def test_list_of_notices_has_kind_and_status_without_the_text(self, world, consumer):
        page = consumer.read(path(world)).json()
        assert (page["total"], page["has_more"]) == (1, False)
        [row] = page["notices"]
        assert (row["kind"], row["status"], row["waits_for"]) == ("adverse_action", "ready", None)
        assert not {"content", "html"} & set(row)

    def test_notice_page_equals_the_stored_record_and_its_hash_is_anchored(self, world, consumer):
        world.offer.provider.address = "Elsewhere"
        world.offer.provider.save()
        assert world.notice.made_from["creditor"]["address"] == ADDRESS
        shown = consumer.read(notice_path(world)).json()
        page = consumer.read(notice_path(world), accept="text/html")
        assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert page.content.decode() == shown["html"]
        assert sha256(page.content).hexdigest() == shown["sha256"]
        record = json.loads(shown["proof"]["record"])
        assert record["notice_sha256"] == shown["sha256"]
        anchor = DecisionAnchor.objects.get(notice=shown["id"])
        assert (anchor.report_type, bool(anchor.signature), anchor.opening) == ("notice", True, None)

    def test_opening_a_notice_with_consent_records_a_single_delivery(self, world, consumer):
        world.consent(6)
        consumer.read(notice_path(world), accept="text/html")
        shown = consumer.read(notice_path(world)).json()
        assert shown["status"] == "delivered"
        assert [delivery["channel"] for delivery in shown["deliveries"]] == ["portal"]

    def test_opening_a_notice_without_consent_records_no_delivery(self, world, consumer):
        """Test the rule in 12 CFR 1002.4(d)(2), 15 USC 7001(c)."""
        assert world.notice.mail is None
        for was_withdrawn in (False, True):
            if was_withdrawn:
                world.consent(6)
                services.withdraw_consent(actor=world.consumer, now=world.at(7))
            assert consumer.read(notice_path(world), accept="text/html").status_code == 200
            shown = consumer.read(notice_path(world)).json()
            assert (shown["status"], shown["deliveries"]) == ("ready", [])
            assert Clock.running(world.pk).count() == 1

    def test_notice_read_by_a_reviewer_or_with_a_scoped_key_is_not_marked_as_delivered(self, world, lender):
        assert lender.read(notice_path(world), accept="text/html").status_code == 200
        assert DataAccess.objects.filter(viewer=world.lender.user, record_id=str(world.pk)).exists()
        assert_error(key_of(world.consumer.user, "offers:read").read(notice_path(world)), 403, "E2005")
        assert key_of(world.consumer.user, "applications:read").read(notice_path(world)).status_code == 200
        assert world.notice.status == "ready"

    def test_api_key_without_the_scope_score_read_cannot_read_a_notice_with_a_bureau_score(self):
        world = _recent()
        world.reject(5, consumer_report=REPORT | SCORE)
        world.issue(6)
        assert_error(key_of(world.consumer.user, "applications:read").read(notice_path(world)), 403, "E2005")
        assert client_of(world.consumer.user).read(notice_path(world)).status_code == 200

    def test_unissued_notice_has_no_content_and_its_html_returns_404(self, consumer, world):
        world.reopen(7)
        world.reject(8)
        assert world.notice.status == "due"
        assert_error(consumer.read(notice_path(world), accept="text/html"), 404, "E4001")
        assert consumer.read(notice_path(world)).json()["content"] is None

    def test_notice_pdf_without_weasyprint_or_its_libraries_returns_406(self, world, consumer, monkeypatch, tmp_path):
        for broken in ("raise ImportError", "raise OSError('cannot load library')"):
            (tmp_path / "weasyprint.py").write_text(broken)
            monkeypatch.syspath_prepend(tmp_path)
            monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
            assert_error(consumer.read(notice_path(world), accept="application/pdf"), 406, "E1014")
        assert world.notice.status == "ready"

    def test_notice_pdf_rendering_fetches_no_file_and_no_url(self, monkeypatch, tmp_path):
        """Uses a substitute for weasyprint that fetches every `src`. tests/system uses the real package."""
        package = tmp_path / "weasyprint"
        package.mkdir()
        (package / "__init__.py").write_text(PRINTER)
        (package / "urls.py").write_text(FETCHER)
        monkeypatch.syspath_prepend(tmp_path)
        for module in ("weasyprint", "weasyprint.urls"):
            monkeypatch.delitem(sys.modules, module, raising=False)
        sources = ("file:///etc/passwd", "http://127.0.0.1/x", "https://example.com/x", "data:image/png,1")
        page = "".join(f'<img src="{source}">' for source in sources)
        try:
            assert pdf_of(page) == b"data:image/png,1"
        finally:
            for module in ("weasyprint", "weasyprint.urls"):
                monkeypatch.delitem(sys.modules, module, raising=False)

    def test_notice_pdf_uses_the_heavy_request_slot_of_the_account(self, world, consumer, impatient):
        person = SimpleNamespace(user_id=world.consumer.user.pk, label="")
        with heavy.slot(SimpleNamespace(auth=person)):
            assert_error(consumer.read(notice_path(world), accept="application/pdf"), 429, "E6001")
            assert consumer.read(notice_path(world), accept="text/html").status_code == 200

    def test_notice_list_executes_a_fixed_number_of_sql_statements(
        self, world, consumer, django_assert_max_num_queries
    ):
        consumer.read(path(world))
        with django_assert_max_num_queries(3) as first:
            consumer.read(path(world))
        world.reopen(7)
        world.reject(8)
        world.issue(9)
        with django_assert_max_num_queries(len(first)):
            assert consumer.read(path(world)).json()["total"] == 2

    def test_reading_an_anchored_notice_executes_no_additional_sql_statements(
        self, world, consumer, django_assert_max_num_queries
    ):
        consumer.read(notice_path(world))
        with django_assert_max_num_queries(20) as first:
            assert consumer.read(notice_path(world)).json()["proof"]["opening"] is None
        DecisionAnchor.objects.update(nonce="0" * 32, proof={"timestamp": "2026-01-31T12:00:00.000000Z"})
        with django_assert_max_num_queries(len(first)):
            shown = consumer.read(notice_path(world)).json()
        assert shown["proof"]["opening"]["user_id"] == str(world.consumer.user.pk)


class TestNoticesOfAProvider:
    def test_lender_can_filter_its_notices_by_status_and_due_date(self, world, lender):
        address = f"/providers/{world.offer.provider_id}/notices"
        (row,) = lender.read(address).json()["notices"]
        assert row["id"] == str(world.notice.pk)
        before, after = (world.at(day).isoformat().replace("+00:00", "Z") for day in (29, 31))
        for query, expected in (
            ("status=ready", 1), ("status=delivered", 0), (f"due_before={before}", 0), (f"due_before={after}", 1),
        ):  # fmt: skip
            assert lender.read(f"{address}?{query}").json()["total"] == expected, query


class TestDeliveredNotices:
    def test_lender_can_record_a_notice_delivery_with_a_reference(self, world, lender):
        answer = lender.send(notice_path(world, "deliveries"), handed_over(world), key=True)
        assert answer.status_code == 201, answer.content
        assert answer.json()["evidence"] == {"reference": "RR 1"}
        notice = world.notice
        assert (notice.status, notice.delivered_at) == ("delivered", world.at(8))
        assert not world.application.clocks.filter(stopped_at=None).exists()

    def test_invalid_notice_delivery_is_rejected(self, world, consumer, lender, settings):
        place = notice_path(world, "deliveries")
        for wrong in ({"at": "today"}, {"at": "2020-01-01T00:00:00Z"}, {"at": "2999-01-01T00:00:00Z"}):
            assert_error(lender.send(place, handed_over(world, **wrong)), 400, "E1001")
        assert_error(consumer.send(place, handed_over(world)), 403, "E2010")
        # The platform records deliveries by its own channels.
        settings.NOTICE_CHANNELS = ["portal", "email", "post", "provider"]
        for channel in ("portal", "email"):
            assert_error(lender.send(place, handed_over(world, channel=channel)), 400, "E1001")
        for channel, on in (("post", "portal"), ("post", "provider"), ("provider", "post")):
            settings.NOTICE_CHANNELS = ["portal", on]
            error = assert_error(lender.send(place, handed_over(world, channel=channel)), 400, "E1001")
            assert error["details"][0]["field"] == "channel"
        assert world.notice.status == "ready"
        assert not Delivery.objects.exists()

    def test_recording_the_delivery_of_an_unissued_notice_is_rejected(self, world, lender):
        world.reopen(7)
        world.reject(8)
        body = handed_over(world, at=world.at(9).isoformat().replace("+00:00", "Z"))
        assert_error(lender.send(notice_path(world, "deliveries"), body), 400, "E3004")


class TestConsent:
    def test_notice_consent_is_stored_with_the_hash_of_its_text(self, world, consumer):
        before = consumer.read("/notice-consent?language=es").json()
        assert (before["is_given"], before["at"]) == (False, None)
        assert_error(consumer.replace("/notice-consent", {"text_sha256": "0" * 64}), 400, "E1001")
        body = {"text_sha256": before["text_sha256"], "language": "es"}
        assert consumer.replace("/notice-consent", body).json()["is_given"]
        kept = Consent.newest_of(world.consumer.user.pk)
        assert (kept.text, kept.text_sha256) == (before["text"], before["text_sha256"])
        assert consumer.remove("/notice-consent").status_code == 200
        assert not Consent.is_given_by(world.consumer.user.pk)

    def test_notice_mail_contains_a_link_without_the_reasons(self, settings):
        world = _recent()
        world.consent(1)
        world.reject(5)
        world.issue(6)
        mail = world.notice.mail
        assert (mail.recipient, mail.template) == ("rosa@example.test", "notice")
        reference = reference_of(world.notice.application_id)
        assert json.loads(mail.context) == {
            "link": f"{settings.APP_URL}/my/applications/{world.notice.application_id}/notices/{world.notice.pk}",
            "lender": "Cedar Bank",
            "reference": reference,
            "rows": [["Application", reference], ["Lender", "Cedar Bank"], ["Amount", "$10,000.00"]],
        }
        world.mails()
        world.issue(7)
        assert [row.channel for row in world.notice.deliveries.all()] == ["email"]
        assert world.notice.status == "delivered"

    def test_notice_can_be_opened_after_its_mail_failed(self):
        world = _recent()
        world.consent(1)
        world.reject(5)
        world.issue(6)
        world.mails("failed")
        world.issue(7)
        assert world.notice.status == "failed"
        services.record_opening(world.notice, actor=world.consumer, now=world.at(8))
        assert world.notice.status == "delivered"


def test_notice_events_contain_ids_without_the_notice_text(world):
    world.open_notice(7)
    events = Event.objects.filter(type__startswith="notice.").order_by("pk")
    assert {(event.type, event.account_id) for event in events} == {
        (f"notice.{word}", who.user.pk) for word in ("ready", "delivered") for who in (world.consumer, world.lender)
    }
    assert set(events[0].object) == {"application_id", "notice_id", "kind", "status"}
