"""The events about applications, offers and scoring models."""

from config.webhooks.catalogue import FLAG, INT64, TEXT, UUID, object_of, register, said


def register_types() -> None:
    register(
        "application",
        object_of(
            application_id=said(UUID, "The application's id."),
            status=said(TEXT, "Where it stands now."),
            offer_id=said(INT64, "The offer that is applied for."),
            provider_id=said(INT64, "The provider that it goes to."),
            sometimes={"document_id": said(UUID, "The document on the checklist; only where it is about one.")},
        ),
        {
            "created": "An application was made.",
            "updated": "An application's data or notes were replaced.",
            "submitted": "An application was submitted.",
            "under_review": "An application is being reviewed, for the first time or again.",
            "pending_documents": "An application waits for documents.",
            "document_received": "A file was handed in for a document that was asked for.",
            "approved": "An application was approved.",
            "rejected": "An application was rejected.",
            "withdrawn": "An application was withdrawn.",
            "expired": "An application expired because nobody took it up.",
            "accepted": "The consumer took an approval up.",
        },
        rank=10,
    )
    register(
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
        rank=30,
    )
    register(
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
            "retired": "A version of a scoring model scores nobody any more.",
        },
        rank=35,
    )
