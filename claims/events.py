from claims import machine
from config.ops import demo_ids
from config.webhooks.catalogue import TEXT, UUID, EventFamily, object_of, said

FAMILIES = (
    EventFamily(
        "claim",
        object_of(
            claim_id=said(UUID, "The claim's id."),
            status=said(TEXT, "Where it stands now."),
            verification_level=said(TEXT, "How far it is verified."),
            visibility=said(TEXT, "The visibility of the claim."),
        ),
        {
            "created": "A publication claim was made.",
            "updated": "A claim's evidence, notes, level or visibility changed.",
            "pending": "A claim waits for a decision.",
            "approved": "A claim was approved.",
            "disputed": "A claim is disputed.",
            "revoked": "A claim was revoked.",
            "draft": "A claim went back to its author.",
            "deleted": "A claim was deleted.",
        },
        {"claim_id": str(demo_ids.CLAIM_PENDING), "verification_level": "evidence_provided", "visibility": "shared"},
        statuses={"created": machine.DRAFT, "updated": machine.DRAFT, "deleted": machine.DRAFT},
        rank=20,
    ),
)
