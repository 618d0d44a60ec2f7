from datetime import datetime
from typing import Any

from config.ops import demo_ids
from config.ops.models import RequestLine


def seed(*, consumer: Any, staff: Any, now: datetime) -> None:  # noqa: ARG001  the signature of every seed
    demo_lines = RequestLine.objects.filter(account_id=consumer.pk, request_id=demo_ids.REQUEST)
    if not demo_lines.exists():
        line = {"method": "GET", "route": "/v1/applications/{application_id}", "status": 404, "code": "E4002"}
        key = {"credential": f"api_key:{demo_ids.KEY_TO_ROTATE}", "account_id": consumer.pk}
        RequestLine.objects.create(**line, **key, duration_ms=2, request_id=demo_ids.REQUEST, at=now)
