from claims import machine
from config.ops import demo_ids
from config.webhooks.catalogue import TEXT, UUID, EventFamily, object_of, said

FAMILIES = (
    EventFamily(
        "claim",
        object_of(
            claim_id=said(UUID, "The claim's id."),
            status=said(TEXT, "The claim's status at the time of the event."),
            verification_level=said(TEXT, "The claim's verification level."),
            visibility=said(TEXT, "The visibility of the claim."),
        ),
        {
            "created": "A publication claim was created.",
            "updated": "The evidence, notes, level, or visibility of a claim changed.",
            "pending": "A claim is waiting for a review.",
            "approved": "A claim was approved.",
            "disputed": "A claim is disputed.",
            "revoked": "A claim was revoked.",
            "draft": "The owner withdrew a claim from the review.",
            "deleted": "A claim was deleted.",
        },
        {"claim_id": str(demo_ids.CLAIM_PENDING), "verification_level": "evidence_provided", "visibility": "shared"},
        statuses={"created": machine.DRAFT, "updated": machine.DRAFT, "deleted": machine.DRAFT},
        rank=20,
    ),
)
