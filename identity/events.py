from config.ops import demo_ids
from config.webhooks.catalogue import INT64, TEXT, UUID, EventFamily, object_of, said
from identity.kyc import machine

FAMILIES = (
    EventFamily(
        "kyc.verification",
        object_of(
            verification_id=said(UUID, "The verification's id."),
            status=said(TEXT, "The verification's status at the time of the event."),
            attempt=said(INT64, "The number of the verification among the account's verifications, from 1."),
        ),
        {
            "created": "An identity verification was created.",
            "updated": "The status of an identity verification changed.",
            "revoked": "The vendor revoked a successful verification. The status is unchanged.",
        },
        {"verification_id": str(demo_ids.VERIFIED), "attempt": 1},
        statuses={"created": machine.REQUIRES_INPUT, "updated": machine.VERIFIED, "revoked": machine.VERIFIED},
        rank=40,
    ),
    EventFamily(
        "bankdata.item",
        object_of(item_id=said(TEXT, "The linked bank's id."), provider=said(TEXT, "The vendor of the bank's data.")),
        {"linked": "A bank was linked.", "unlinked": "A bank was unlinked."},
        {"item_id": demo_ids.BANK_ITEM, "provider": "sandbox"},
        rank=50,
    ),
    EventFamily(
        "api_key",
        object_of(
            api_key_id=said(TEXT, "The key's id. In `api_key.rotated`, the id of the new key."),
            sometimes={
                "replaces": said(TEXT, "The id of the previous key. Only `api_key.rotated` contains it."),
                "expires_at": said(
                    {"type": "string", "format": "date-time"},
                    "When the key expires (UTC). Only `api_key.expiring` contains it.",
                ),
            },
        ),
        {
            "created": "An API key was created.",
            "rotated": "An API key was rotated.",
            "revoked": "An API key was revoked.",
            "expiring": "An API key expires within 14 days.",
        },
        {"api_key_id": demo_ids.KEY_TO_COLLECT},
        rank=110,
    ),
    EventFamily(
        "account",
        object_of(
            user_id=said(TEXT, "The `user_id` of the account."),
            managed_by=said(TEXT, "The `user_id` of the partner that created the account."),
        ),
        {
            "created": "A partner created an account for a customer.",
            "claimed": "The customer claimed the account that a partner created.",
            "access_ended": "A partner can no longer act on behalf of a customer.",
            "disabled": "A partner disabled an account that it had created.",
        },
        {"user_id": str(demo_ids.MANAGED_USER), "managed_by": str(demo_ids.DEMO_USER)},
        rank=112,
    ),
    EventFamily(
        "invitation",
        object_of(invitation_id=said(UUID, "The invitation's id."), role=said(TEXT, "The role of the invitation.")),
        {
            "created": "An invitation was created.",
            "accepted": "An invitation was accepted.",
            "revoked": "An invitation was revoked.",
        },
        {"invitation_id": str(demo_ids.ACCOUNT_INVITATION), "role": "member"},
        rank=113,
    ),
    EventFamily(
        "oauth_client",
        object_of(client_id=said(TEXT, "The client's id.")),
        {
            "created": "An OAuth client was registered.",
            "changed": "The name, redirect URIs, or scopes of an OAuth client changed.",
            "secret_rotated": "An OAuth client has a new secret. The previous secret is invalid.",
            "deleted": "An OAuth client was deleted, and its grants were revoked.",
        },
        {"client_id": demo_ids.OAUTH_CLIENT},
        rank=111,
    ),
)
