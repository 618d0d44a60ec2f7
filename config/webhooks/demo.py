from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from config.core.json_text import rfc3339
from config.ops import demo_ids
from config.webhooks.endpoints import send_test
from config.webhooks.models import DELIVERED, FAILED, Delivery, Endpoint
from config.webhooks.signing import new_secret

_HERE, _ELSEWHERE = "http://127.0.0.1:9000/hook", "https://receiver.example/hook"


# The failing receiver's responses as (hours ago, status), oldest first. None means no response.
_ANSWERS = ((50, 204), (26, 503), (3, None))


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:
    if Endpoint.objects.filter(pk=demo_ids.ENDPOINT).exists():
        return
    url = _HERE if settings.WEBHOOK_ALLOW_PRIVATE else _ELSEWHERE
    sent = send_test(_endpoint(demo_ids.ENDPOINT, consumer, url, "Demo receiver", now), now=now)
    Delivery.objects.filter(pk=sent.pk).update(id=demo_ids.DELIVERY)  # no other row references a delivery
    failing = _endpoint(demo_ids.FAILING_ENDPOINT, staff, _ELSEWHERE, "The branch's server", now - timedelta(days=9))
    for hours, status in _ANSWERS:
        at = now - timedelta(hours=hours)
        is_taken = status == HTTPStatus.NO_CONTENT
        error = None if is_taken else "timeout" if status is None else "status"
        attempt = {"at": rfc3339(at), "status_code": status, "error": error, "duration_ms": 40 * hours}
        fields = {"status": DELIVERED if is_taken else FAILED, "attempts": [attempt], "due_at": None}
        Delivery.objects.filter(pk=send_test(failing, now=at).pk).update(**fields)
        if failing.failing_since is None and not is_taken:
            failing.failing_since = at
            failing.save(update_fields=["failing_since"])


def _endpoint(identifier: UUID, owner: Any, url: str, description: str, now: datetime) -> Endpoint:
    event_types: Any = ["webhook.test"]
    return Endpoint.objects.create(
        id=identifier,
        account_id=owner.pk,
        url=url,
        event_types=event_types,
        description=description,
        secret=new_secret(),
        created_at=now,
        updated_at=now,
    )
