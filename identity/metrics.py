from collections.abc import Iterator
from datetime import datetime

from config.ops.readings import Reading, read_queue
from identity.kyc.machine import PENDING_REVIEW
from identity.kyc.models import KycVerification


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    yield from read_queue(
        KycVerification.objects.using(using).filter(status=PENDING_REVIEW).order_by("expires_at"),
        "verifications_in_review",
        "Identity verifications that wait for a decision.",
        since="updated_at",
        now=now,
    )


READING = (KycVerification, measure)
