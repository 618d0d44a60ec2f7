from config.ops import demo_ids
from config.webhooks.catalogue import FLAG, INT64, TEXT, TEXT_OR_NULL, UUID, EventFamily, object_of, said

FAMILIES = (
    EventFamily(
        "payment",
        object_of(
            payment_id=said(INT64, "The payment's id."),
            status=said(TEXT, "The payment's status at the time of the event."),
            sometimes={
                "disputed": said(
                    FLAG,
                    "Only in `payment.disputed`. True while a dispute is open, and after the payer has won the "
                    "dispute.",
                )
            },
        ),
        {
            "completed": "A card payment was completed.",
            "failed": "A card payment failed. The card was not charged.",
            "unknown": "The outcome of a card payment is unknown. The worker queries it again.",
            "refunded": "The refunded amount of a card payment changed.",
            "disputed": "The field `disputed` of a card payment changed.",
        },
        {"payment_id": 1},
        statuses={
            "completed": "Completed",
            "failed": "Failed",
            "unknown": "Unknown",
            "refunded": "Completed",
            "disputed": "Completed",
        },
        rank=60,
    ),
    EventFamily(
        "payment.crypto",
        object_of(
            payment_id=said(UUID, "The payment's id."),
            status=said(TEXT, "The payment's status at the time of the event."),
            sometimes={
                "network": said(TEXT, "The EVM network, by its CAIP-2 id."),
                "tx_hash": said(TEXT_OR_NULL, "The hash of the transaction. Null before the transaction is signed."),
                "simulated": said(FLAG, "True if the network is simulated and no funds move."),
            },
        ),
        {
            "initiated": "A crypto payment is waiting for its signature.",
            "submitted": "A signed transaction was sent to the network.",
            "confirmed": "A transaction is final.",
            "failed": "A transaction failed on the network, was replaced, or did not contain the transfer.",
            "expired": "A crypto payment was not signed in time.",
        },
        {"payment_id": str(demo_ids.UNSIGNED_PAYMENT), "network": "eip155:8453", "simulated": True},
        statuses={"initiated": "awaiting_signature"},
        rank=70,
    ),
    EventFamily(
        "payment_method",
        object_of(payment_method_id=said(UUID, "The payment method's id.")),
        {"added": "A payment method was added."},
        {"payment_method_id": "01900000-0000-7000-8000-000000000521"},
        rank=80,
    ),
    EventFamily(
        "wallet",
        object_of(
            wallet_id=said(UUID, "The wallet's id."),
            sometimes={
                "kind": said(TEXT, "`circle` or `walletconnect`. Only in `wallet.connected`."),
                "network": said(TEXT, "The EVM network, by its CAIP-2 id. Only in `wallet.connected`."),
                "status": said(TEXT, "The new status. Absent in `wallet.default_changed`."),
                "is_default": said(FLAG, "True if it is the account's default wallet. Only in `wallet.connected`."),
                "previous_wallet_id": said(
                    {"type": ["string", "null"], "format": "uuid"},
                    "The id of the previous default wallet. Null if there was none. Only in `wallet.default_changed`.",
                ),
            },
        ),
        {
            "connected": "A wallet was connected.",
            "default_changed": "The account's default wallet changed.",
            "disconnected": "A wallet was disconnected. No funds moved.",
        },
        {"wallet_id": str(demo_ids.PHONE_WALLET)},
        rank=90,
    ),
)
