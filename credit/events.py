"""The events about applications, offers and scoring models."""

from config.webhooks.catalogue import FLAG, INT64, TEXT, UUID, object_of, register


def register_types() -> None:
    register(
        "application",
        object_of(application_id=UUID, status=TEXT, offer_id=INT64, provider_id=INT64, sometimes={"document_id": UUID}),
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
        object_of(offer_id=TEXT, provider_id=TEXT, version=INT64, is_active=FLAG),
        {
            "created": "An offer was made.",
            "updated": "An offer has a new version.",
            "deactivated": "An offer is no longer made.",
        },
        rank=30,
    )
    register(
        "scoring_model",
        object_of(model_id=INT64, version=INT64, provider_id=TEXT, role=TEXT, definition_sha256=TEXT),
        {
            "published": "A version of a scoring model was published, or has another role.",
            "retired": "A version of a scoring model scores nobody any more.",
        },
        rank=35,
    )
