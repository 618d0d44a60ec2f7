from datetime import datetime
from typing import Any

from django.conf import settings

from config.webhooks.endpoints import create_endpoint, send_test
from config.webhooks.models import Endpoint

_HERE, _ELSEWHERE = "http://127.0.0.1:9000/hook", "https://receiver.example/hook"


def seed(*, consumer: Any, staff: Any, now: datetime) -> None:  # noqa: ARG001  the signature of every seed
    if Endpoint.objects.present().filter(account_id=consumer.pk).exists():
        return
    url = _HERE if settings.WEBHOOK_ALLOW_PRIVATE else _ELSEWHERE
    endpoint = create_endpoint(
        account_id=consumer.pk, url=url, event_types=["webhook.test"], description="Demo receiver", now=now
    )
    send_test(endpoint, now=now)
