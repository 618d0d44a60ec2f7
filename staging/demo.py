from datetime import datetime
from typing import Any

from django.db import transaction

from staging.models import StagedItem
from staging.registry import stage_items


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:  # noqa: ARG001  the signature of every seed
    if StagedItem.objects.filter(user=consumer, source="demo").exists():
        return
    items: list[tuple[str, dict[str, Any]]] = [
        ("note", {"text": "Ask the employer for a confirmation of income.", "title": "To do"}),
        ("note", {"text": "Rent is paid on the third of each month."}),
        ("claim", {"publication_id": "10.5555/99999999", "claim_type": "contributor", "visibility": "shared"}),
    ]
    stage_items(user_id=consumer.pk, items=items, source="demo", now=now)
