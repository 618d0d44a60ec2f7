from config.ops import demo_ids
from config.webhooks.catalogue import TEXT, UUID, EventFamily, object_of, said

FAMILIES = (
    EventFamily(
        "staging.item",
        object_of(
            item_id=said(UUID, "The item's id."),
            kind=said(TEXT, "The kind of the payload."),
            status=said(TEXT, "The item's status at the time of the event."),
            sometimes={
                "stored_id": said(
                    TEXT, "The id of the record that the approval created. Only in `staging.item.approved`."
                )
            },
        ),
        {
            "staged": "An item is waiting for its owner's approval.",
            "approved": "An item was approved and stored.",
            "rejected": "An item was rejected.",
            "expired": "The deadline of an item passed without a decision.",
        },
        {"item_id": str(demo_ids.NOTE_TO_APPROVE), "kind": "note"},
        rank=100,
    ),
)
