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
            status=said(TEXT, "The application's status at the time of the event."),
            offer_id=said(INT64, "The id of the application's offer."),
            provider_id=said(INT64, "The id of the application's lender."),
            sometimes={
                "document_id": said(UUID, "The id of the document. Only `application.document_received` contains it."),
                "counteroffer_id": said(
                    UUID, "The counteroffer's id. Only events about a counteroffer contain this id."
                ),
                "correction_id": said(UUID, "The correction's id. Only events about a correction contain this id."),
                "review_request_id": said(
                    UUID,
                    "The id of the request for reconsideration. Only events about a request for reconsideration "
                    "contain this id.",
                ),
            },
        ),
        {
            "created": "An application was created, as a draft or with a later status.",
            "updated": "The data, applicants, notes, shared areas, checklist, or confirmed values of an application "
            "changed.",
            "submitted": "An application was submitted. If it was created as `submitted`, the applicant's account gets "
            "`application.created` instead.",
            "under_review": "The review of an application started, or started again.",
            "pending_documents": "The lender requested documents for an application.",
            "document_received": "A file was uploaded for a requested document.",
            "approved": "An application was approved.",
            "rejected": "An application was rejected.",
            "withdrawn": "An application was withdrawn.",
            "expired": "An application expired, because there was no activity or acceptance before its deadline.",
            "accepted": "The applicant accepted an approval or a counteroffer.",
            "contract_withdrawn": "A borrower withdrew from the accepted agreement.",
            "counteroffered": "The lender made a counteroffer.",
            "counteroffer_declined": "The applicant declined a counteroffer.",
            "counteroffer_expired": "A counteroffer expired without an acceptance. A rejection follows.",
            "review_requested": "The applicant requested reconsideration.",
            "review_answered": "A decision or another event closed a request for reconsideration.",
            "correction_requested": "The applicant reported a wrong value.",
            "correction_answered": "A reviewer answered the report of a wrong value.",
        },
        {"application_id": str(demo_ids.UNDER_REVIEW), "offer_id": demo_ids.OFFER, "provider_id": demo_ids.PROVIDER},
        statuses={
            "created": machine.DRAFT,
            "updated": machine.DRAFT,
            "document_received": machine.PENDING_DOCUMENTS,
            "accepted": machine.APPROVED,
            "contract_withdrawn": machine.APPROVED,
            "review_requested": machine.REJECTED,
            "review_answered": machine.APPROVED,
            "correction_requested": machine.REJECTED,
            "correction_answered": machine.REJECTED,
            **dict.fromkeys(_ABOUT_COUNTEROFFERS, machine.UNDER_REVIEW),
        },
        rank=10,
    ),
    EventFamily(
        "notice",
        object_of(
            application_id=said(UUID, "The id of the notice's application."),
            status=said(TEXT, "The notice's status at the time of the event. `none` if there is no notice yet."),
            sometimes={
                "notice_id": said(UUID, "The notice's id. Absent if there is no notice yet."),
                "kind": said(
                    TEXT,
                    "`adverse_action`, `approval`, `counteroffer`, `incomplete`, `pricing`, or `withdrawal_reminder`. "
                    "Absent if there is no notice yet.",
                ),
                "clock": said(
                    TEXT,
                    "The deadline that passed: `application`, `action`, `counteroffer`, or `review`. "
                    "Only in `notice.overdue`.",
                ),
            },
        ),
        {
            "ready": "A notice was created.",
            "delivered": "A notice was delivered to the applicant.",
            "overdue": "The deadline of a notice or of a request for reconsideration passed.",
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
        "report",
        object_of(report_id=said(UUID, "The report's id."), application_id=said(UUID, "The application's id.")),
        {
            "received": "The vendor returned a report, or the status `no_file` or `frozen`.",
            "failed": "A report failed, for example because the vendor returned nothing within 24 hours.",
        },
        {"report_id": "01900000-0000-7000-8000-000000000551", "application_id": str(demo_ids.UNDER_REVIEW)},
        rank=13,
    ),
    EventFamily(
        "offer",
        object_of(
            offer_id=said(TEXT, "The offer's id."),
            provider_id=said(TEXT, "The id of the offer's lender."),
            version=said(INT64, "The version of the offer's terms."),
            is_active=said(FLAG, "True if the offer is active."),
        ),
        {
            "created": "An offer was created.",
            "updated": "An offer has a new version.",
            "deactivated": "An offer was deactivated.",
        },
        {"offer_id": str(demo_ids.OFFER), "provider_id": str(demo_ids.PROVIDER), "version": 1, "is_active": True},
        rank=30,
    ),
    EventFamily(
        "provider",
        object_of(
            provider_id=said(TEXT, "The lender's id."),
            invitation_id=said(UUID, "The invitation's id, as in the list of the lender's members."),
        ),
        {"member_invited": "A user name was invited to be a member of a lender."},
        {"provider_id": str(demo_ids.OWN_PROVIDER), "invitation_id": "01900000-0000-7000-8000-000000000531"},
        rank=32,
    ),
    EventFamily(
        "scoring_model",
        object_of(
            model_id=said(INT64, "The scoring model's id."),
            version=said(INT64, "The number of the version."),
            provider_id=said(TEXT, "The id of the model's lender."),
            role=said(TEXT, "The version's role: `champion` or `challenger`. Empty once the version is retired."),
            definition_sha256=said(TEXT, "The SHA-256 of the definition's canonical JSON, in hex."),
        ),
        {
            "published": "A version of a scoring model was published, or its role changed.",
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
