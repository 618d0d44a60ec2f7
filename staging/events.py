"""The events about staged items."""

from config.webhooks.catalogue import TEXT, UUID, object_of, register


def register_types() -> None:
    """Register the types with the catalogue; their ranks are the places in its list."""
    register(
        "staging.item",
        object_of(item_id=UUID, kind=TEXT, status=TEXT),
        {
            "staged": "An item waits for its owner's decision.",
            "approved": "An item was approved and stored.",
            "rejected": "An item was rejected.",
            "expired": "An item expired undecided.",
        },
        rank=100,
    )
