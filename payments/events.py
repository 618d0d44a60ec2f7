from config.webhooks.catalogue import FLAG, INT64, TEXT, TEXT_OR_NULL, UUID, object_of, register


def register_types() -> None:
    register(
        "payment",
        object_of(payment_id=INT64, status=TEXT),
        {
            "completed": "A card payment was completed.",
            "failed": "A card payment failed; nothing was charged.",
            "unknown": "The processor's answer to a card payment is missing; it will be asked again.",
        },
        rank=60,
    )
    register(
        "payment.crypto",
        object_of(
            payment_id=UUID, status=TEXT, sometimes={"network": TEXT, "tx_hash": TEXT_OR_NULL, "simulated": FLAG}
        ),
        {
            "initiated": "A crypto payment waits for its signature.",
            "submitted": "A signed transaction was handed to the network.",
            "confirmed": "A transaction is settled.",
            "failed": "A transaction failed on the network.",
            "expired": "A crypto payment was not signed in time.",
        },
        rank=70,
    )
    register("payment_method", object_of(payment_method_id=UUID), {"added": "A payment method was added."}, rank=80)
    register(
        "wallet",
        object_of(
            wallet_id=UUID,
            sometimes={
                "kind": TEXT,
                "network": TEXT,
                "status": TEXT,
                "is_default": FLAG,
                "previous_wallet_id": {"type": ["string", "null"], "format": "uuid"},
            },
        ),
        {
            "connected": "A wallet was connected.",
            "default_changed": "Another wallet is the default.",
            "disconnected": "A wallet's reference was removed; no funds moved.",
        },
        rank=90,
    )
