"""Test the length and the age of each queue in the database metrics of `/metrics`."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from config.core.ids import uuid7
from config.ops.metrics import Scrape
from config.ops.readings import COUNT_MAX, measures
from config.webhooks.models import Delivery, Endpoint, Event
from credit.anchoring import record_keys
from payments.cards.models import UNKNOWN, Payment
from tests.factories import UserFactory
from tests.ledger.conftest import seal_reports


@pytest.fixture
def read(committed, tmp_path):
    """Read the metrics of every app; return the values by name."""

    def take():
        lines = [line for line in Scrape(tmp_path).text().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    return take


class TestMetricReadings:
    def test_metrics_of_an_empty_database_are_zero(self, read):
        values = read()
        assert values.pop('platform_database_up{database="default"}') == 1
        assert values.pop("platform_ledger_may_sign") == 1
        assert {name for name, value in values.items() if value and "info" not in name} == set()
        assert len(values) > 20

    def test_metrics_contain_length_and_age_of_the_outbox(self, read):
        user, now = UserFactory(), timezone.now()
        then = now - timedelta(hours=2)
        event = Event.objects.create(account=user, type="claim.created", object={}, created_at=then)
        endpoint = Endpoint.objects.create(
            account=user, url="https://r.example", event_types=["*"], secret="s", failing_since=then,
            created_at=then, updated_at=then,
        )  # fmt: skip
        for minutes in (90, -5):
            Delivery.objects.create(
                id=uuid7(), account=user, endpoint=endpoint, event=event, event_type=event.type,
                due_at=now - timedelta(minutes=minutes), created_at=then, is_redelivery=minutes > 0,
            )  # fmt: skip
        values = read()
        assert values["platform_events_unpublished"] == 1
        assert 7200 <= values["platform_events_unpublished_oldest_seconds"] < 7500
        assert values["platform_webhook_deliveries_pending"] == 2
        assert 7200 <= values["platform_webhook_deliveries_pending_oldest_seconds"] < 7500
        assert 5400 <= values["platform_webhook_deliveries_late_seconds"] < 5700
        assert values["platform_webhook_endpoints_failing"] == 1

    def test_metrics_contain_number_and_age_of_unknown_payments(self, read):
        then = timezone.now() - timedelta(hours=3)
        for number, status in enumerate([UNKNOWN, UNKNOWN, "Processing", "Failed"]):
            Payment.objects.create(
                user=UserFactory(), amount_cents=1, fee_amount_cents=0, currency="USD", payment_method_id="pm",
                processor="sandbox", processor_key=str(number), method_token="t", status=status, due_at=then,
                created_at=then,
            )  # fmt: skip
        values = read()
        assert (values["platform_payments_unknown"], values["platform_payments_open"]) == (2, 3)
        assert 10_800 <= values["platform_payments_unknown_oldest_seconds"] < 11_100

    def test_age_of_pending_anchors_includes_records_other_than_decisions(self, read, settings):
        settings.ANCHOR_DECISIONS = True
        record_keys.rotate(now=timezone.now() - timedelta(hours=2))
        values = read()
        assert values["platform_anchors_pending"] >= 1
        assert 7000 <= values["platform_anchors_pending_oldest_seconds"] < 7500

    def test_metrics_contain_the_height_of_the_ledger(self, read, settings, tmp_path):
        settings.LEDGER_GUARD_FILE = tmp_path / "guard"
        seal_reports(["a", "b"])
        seal_reports(["c"])
        values = read()
        assert (values["platform_ledger_height"], values["platform_ledger_entries"]) == (2, 3)
        (tmp_path / "guard").write_text("damaged")
        assert read()["platform_ledger_may_sign"] == 0

    def test_queue_length_metric_stops_at_the_maximum(self, read, monkeypatch):
        monkeypatch.setattr("config.ops.readings.COUNT_MAX", 3)
        user, now = UserFactory(), timezone.now()
        Event.objects.bulk_create(
            [Event(account=user, type="claim.created", object={}, created_at=now) for _ in range(10)]
        )
        assert read()["platform_events_unpublished"] == 4
        assert COUNT_MAX >= 1_000

    def test_queue_metric_queries_use_database_indexes(
        self, committed, needs_postgresql, django_assert_max_num_queries
    ):
        with connection.cursor() as cursor:
            cursor.execute("SET enable_seqscan = off; SET enable_sort = off")
        with django_assert_max_num_queries(16) as captured:
            for _alias, measure in measures():
                list(measure(using="default", now=timezone.now()))
        indexes = {
            "webhooks_event_unpublished", "webhooks_delivery_due", "webhooks_endpoint_failing",
            "payments_payment_due", "payments_crypto_open", "credit_app_review_queue", "credit_anchor_due",
            "identity_kyc_status_expiry", "ledger_block_pkey", "credit_notice_undelivered", "credit_clock_running",
            "ops_faileditem_dead",
        }  # fmt: skip
        used = set()
        for query in captured.captured_queries:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {query['sql']}")
                plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan" not in plan, plan
            used |= {index for index in indexes if index in plan}
        assert used == indexes
