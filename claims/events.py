"""The events about claims."""

from config.webhooks.catalogue import TEXT, UUID, object_of, register


def register_types() -> None:
    """Register the types with the catalogue; their ranks are the places in its list."""
    register(
        "claim",
        object_of(claim_id=UUID, status=TEXT, verification_level=TEXT, visibility=TEXT),
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
        rank=20,
    )
