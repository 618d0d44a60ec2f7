from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from claims.machine import APPROVED, DISPUTED, PENDING, REVOKED
from claims.models import Claim, record_claim_event
from config.core.lifecycle import Actor
from config.ops import demo_ids

# The ID, publication, visibility, and transitions of each claim.
_CLAIMS: list[tuple[UUID, str, str, tuple[str, ...]]] = [
    (demo_ids.CLAIM_APPROVED, "https://doi.org/10.5555/12345678", "shared", (PENDING, APPROVED)),
    (demo_ids.CLAIM_PENDING, "doi:10.5555/24242424", "conditional", (PENDING,)),
    (demo_ids.CLAIM_DISPUTED, "10.5555/87654321", "conditional", (PENDING, APPROVED, DISPUTED)),
    (demo_ids.CLAIM_DRAFT, "W2741809807", "private", ()),
    (demo_ids.CLAIM_TO_DELETE, "10.5555/31415926", "private", ()),
    (demo_ids.CLAIM_REVOKED, "10.5555/27182818", "private", (PENDING, REVOKED)),
]


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:
    if Claim.with_tombstones.filter(pk=demo_ids.CLAIM_APPROVED).exists():
        return
    owner, reviewer = Actor(user=consumer, credential="demo"), Actor(user=staff, credential="demo")
    for identifier, publication_id, visibility, moves in _CLAIMS:
        members: dict[str, Any] = {"publication_id": publication_id, "claim_type": "author", "visibility": visibility}
        members["evidence"] = ["https://example.org/page"]
        claim = Claim.draft(user_id=consumer.pk, members=members, now=now)
        claim.id = identifier
        claim.save(force_insert=True)
        record_claim_event("created", claim, now=now)
        for to in moves:
            decides = to == APPROVED
            claim.transition_to(to, actor=reviewer if decides else owner, changed_by="demo", now=now)
