"""The deletion of an erased account's webhook endpoints."""

from datetime import datetime

from config.webhooks.models import Endpoint


def end_endpoints(user_id: int, *, now: datetime) -> None:
    Endpoint.objects.filter(account=user_id, deleted_at__isnull=True).update(deleted_at=now)
