from hashlib import sha256

from config.ops import demo_ids
from config.webhooks.catalogue import FLAG, INT64, TEXT, UUID, EventFamily, object_of, said
from credit.core import machine

_ABOUT_COUNTEROFFERS = ("counteroffered", "counteroffer_declined", "counteroffer_expired")

FAMILIES = (
    EventFamily(
        "application",
        object_of(
            application_id=said(UUID, "The application's id."),
            status=said(TEXT, "Where it stands now."),
            offer_id=said(INT64, "The offer that is applied for."),
            provider_id=said(INT64, "The provider that it goes to."),
            sometimes={
                "document_id": said(UUID, "The document on the checklist; only where it is about one."),
                "counteroffer_id": said(UUID, "The counteroffer; only where it is about one."),
                "review_request_id": said(UUID, "The request to look again; only where it is about one."),
            },
        ),
        {
            "created": "An application was made.",
            "updated": "An application's data or notes were replaced.",
            "submitted": "An application was submitted.",
            "under_review": "An application is being reviewed, for the first time or again.",
            "pending_documents": "An application waits for documents.",
            "document_received": "A file was uploaded for a requested document.",
            "approved": "An application was approved.",
            "rejected": "An application was rejected.",
            "withdrawn": "An application was withdrawn.",
            "expired": "An application expired without an acceptance or activity in time.",
            "accepted": "The consumer took an approval up.",
            "counteroffered": "Other terms than those applied for were offered.",
            "counteroffer_declined": "The consumer declined a counteroffer.",
            "counteroffer_expired": "A counteroffer expired without an acceptance: a rejection follows.",
            "review_requested": "The consumer asked for a person to look at a rejection again.",
            "review_answered": "A decision answered the consumer's request to look again.",
        },
        {"application_id": str(demo_ids.UNDER_REVIEW), "offer_id": demo_ids.OFFER, "provider_id": demo_ids.PROVIDER},
        statuses={
            "created": machine.DRAFT,
            "updated": machine.DRAFT,
            "document_received": machine.PENDING_DOCUMENTS,
            "accepted": machine.APPROVED,
            "review_requested": machine.REJECTED,
            "review_answered": machine.APPROVED,
            **dict.fromkeys(_ABOUT_COUNTEROFFERS, machine.UNDER_REVIEW),
        },
        rank=10,
    ),
    EventFamily(
        "notice",
        object_of(
            application_id=said(UUID, "The application that it is about."),
            status=said(TEXT, "Where the notice stands now; `none` where none was owed yet."),
            sometimes={
                "notice_id": said(UUID, "The notice's id; absent where none was owed yet."),
                "kind": said(TEXT, "`adverse_action`, `approval`, `counteroffer` or `incomplete`."),
                "clock": said(
                    TEXT,
                    "Which clock ran out: `application`, `action`, `counteroffer`, or `review`. "
                    "Only in `notice.overdue`.",
                ),
            },
        ),
        {
            "ready": "A notice was made: the person can read it.",
            "delivered": "A notice reached the person.",
            "overdue": "A person was not told in time, or a request to look again not answered.",
        },
        {
            "application_id": str(demo_ids.UNDER_REVIEW),
            "notice_id": "01900000-0000-7000-8000-000000000541",
            "kind": "adverse_action",
        },
        statuses={"overdue": "ready"},
        rank=12,
    ),
    EventFamily(
        "offer",
        object_of(
            offer_id=said(TEXT, "The offer's id."),
            provider_id=said(TEXT, "The provider whose offer it is."),
            version=said(INT64, "The newest version of the offer."),
            is_active=said(FLAG, "Whether it is made."),
        ),
        {
            "created": "An offer was made.",
            "updated": "An offer has a new version.",
            "deactivated": "An offer is no longer made.",
        },
        {"offer_id": str(demo_ids.OFFER), "provider_id": str(demo_ids.PROVIDER), "version": 1, "is_active": True},
        rank=30,
    ),
    EventFamily(
        "provider",
        object_of(
            provider_id=said(TEXT, "The provider's id."),
            invitation_id=said(UUID, "The invitation's id, as the provider's owner finds it among the members."),
        ),
        {"member_invited": "An account was invited to act for a provider."},
        {"provider_id": str(demo_ids.OWN_PROVIDER), "invitation_id": "01900000-0000-7000-8000-000000000531"},
        rank=32,
    ),
    EventFamily(
        "scoring_model",
        object_of(
            model_id=said(INT64, "The scoring model's id."),
            version=said(INT64, "The number of the version."),
            provider_id=said(TEXT, "The provider whose model it is."),
            role=said(TEXT, "`champion` or `challenger`; empty once it is retired."),
            definition_sha256=said(TEXT, "The SHA-256 of the definition's canonical JSON, in hex."),
        ),
        {
            "published": "A version of a scoring model was published, or has another role.",
            "retired": "A version of a scoring model was retired.",
        },
        {
            "model_id": demo_ids.SCORING_MODEL,
            "version": demo_ids.CHAMPION,
            "provider_id": str(demo_ids.OWN_PROVIDER),
            "role": "champion",
            "definition_sha256": sha256(b"the definition").hexdigest(),
        },
        rank=35,
    ),
)
