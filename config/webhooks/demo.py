from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from config.ops import demo_ids
from config.webhooks.endpoints import send_test
from config.webhooks.models import Delivery, Endpoint
from config.webhooks.signing import new_secret

_HERE, _ELSEWHERE = "http://127.0.0.1:9000/hook", "https://receiver.example/hook"


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:  # noqa: ARG001  the signature of every seed
    if Endpoint.objects.filter(pk=demo_ids.ENDPOINT).exists():
        return
    told: Any = ["webhook.test"]
    endpoint = Endpoint.objects.create(
        id=demo_ids.ENDPOINT,
        account_id=consumer.pk,
        url=_HERE if settings.WEBHOOK_ALLOW_PRIVATE else _ELSEWHERE,
        event_types=told,
        description="Demo receiver",
        secret=new_secret(),
        created_at=now,
        updated_at=now,
    )
    sent = send_test(endpoint, now=now)
    Delivery.objects.filter(pk=sent.pk).update(id=demo_ids.DELIVERY)  # no other row refers to a delivery
