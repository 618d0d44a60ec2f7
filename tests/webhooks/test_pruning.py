"""`manage.py prune` forgets deliveries that are over, and no events."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.ops.pruning import prune
from config.webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db


def test_deliveries_are_kept_for_a_month_and_events_for_good(receiver, make_endpoint, happen, work):
    make_endpoint(receiver.url)
    happen(3)
    work()
    receiver.status = 500
    happen(1)
    work()
    now = timezone.now()
    young = Delivery.objects.filter(status="delivered").first()
    Delivery.objects.exclude(pk=young.pk).update(created_at=now - timedelta(days=31))
    assert prune(now=now)["webhook_deliveries"] == 2
    assert sorted(Delivery.objects.values_list("status", flat=True)) == ["delivered", "pending"]
    assert Event.objects.count() == 4
