"""The events about identity verifications, linked banks and API keys."""

from config.webhooks.catalogue import INT64, TEXT, UUID, object_of, register


def register_types() -> None:
    """Register the types with the catalogue; their ranks are the places in its list."""
    register(
        "kyc.verification",
        object_of(verification_id=UUID, status=TEXT, attempt=INT64),
        {
            "created": "An identity verification was started.",
            "updated": "An identity verification moved to another status.",
        },
        rank=40,
    )
    register(
        "bankdata.item",
        object_of(item_id=TEXT, provider=TEXT),
        {
            "linked": "An account at a bank was linked.",
        },
        rank=50,
    )
    register(
        "api_key",
        object_of(
            api_key_id=TEXT, sometimes={"replaces": TEXT, "expires_at": {"type": "string", "format": "date-time"}}
        ),
        {
            "created": "An API key was made.",
            "rotated": "An API key has a successor.",
            "revoked": "An API key was revoked.",
            "expiring": "An API key expires soon.",
        },
        rank=110,
    )
