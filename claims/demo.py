from datetime import datetime
from typing import Any

from django.db import transaction

from claims.machine import APPROVED, DISPUTED, PENDING
from claims.models import Claim
from claims.services import create_claim
from config.core.lifecycle import Actor

# (publication, visibility, its transitions)
_CLAIMS: list[tuple[str, str, tuple[str, ...]]] = [
    ("https://doi.org/10.5555/12345678", "shared", (PENDING, APPROVED)),
    ("doi:10.5555/24242424", "conditional", (PENDING,)),
    ("10.5555/87654321", "conditional", (PENDING, APPROVED, DISPUTED)),
    ("W2741809807", "private", ()),
]


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:
    if Claim.with_tombstones.filter(user=consumer).exists():
        return
    owner, reviewer = Actor(user=consumer, credential="demo"), Actor(user=staff, credential="demo")
    for publication_id, visibility, moves in _CLAIMS:
        members = {"publication_id": publication_id, "claim_type": "author", "visibility": visibility}
        claim = create_claim(actor=owner, members={**members, "evidence": ["https://example.org/page"]}, now=now)
        for to in moves:
            decides = to == APPROVED
            claim.transition_to(to, actor=reviewer if decides else owner, changed_by="demo", now=now)
