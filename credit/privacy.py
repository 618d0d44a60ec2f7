"""Personal data in the tables of this app; `config.core.privacy` explains the terms."""

from django.db.models import Q

from config.core.privacy import (
    DELETE_ROW,
    LEGAL_OBLIGATION,
    REPLACE,
    Keep,
    about_staff,
    none,
    personal,
    table,
)
from credit.core.applicants import FIRST

APPLICATION = Keep(
    "application_records",
    "12 CFR 1002.12(b)(1): 25 months from a notice; 12 CFR 1026.25(a): 24 months from an acceptance; "
    "Colorado SB 26-189: 36 months from a score; the term of a loan; a litigation hold",
)

# The hash of a record is anchored, so the record must remain for verifying its proofs.
DECISION_RECORD = Keep(
    "decision_records",
    "signed records of decisions; those of versions 1 to 3 also contain the text of the reason: GDPR Article 17(3)(e)",
    is_permanent=True,
)

LENDER = "the lender that the application was sent to"
THE_LENDER = "the lender"

TABLES = {
    "credit.RequestedDocument": table(
        personal("name", erase=REPLACE, masked=False, keep=APPLICATION),
        personal("reason", erase=REPLACE, keep=APPLICATION),
        about_staff("changed_by"),
        none("id", "application", "status", "requested_at", "received_at", "accepted_at"),
        source=THE_LENDER,
        subject="application__consumer",
        purpose="applications for credit",
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.StoredFile": table(
        personal("key", erase=REPLACE, secret=True, keep=APPLICATION),
        none("id", "begun_at", "is_kept", "deleted_at"),
        subject="file__document__application__consumer",
        purpose="uploaded files",
        by_value=True,
        kept_by="file__document__application",
        recipients=LENDER,
    ),
    "credit.DocumentFile": table(
        personal("name", erase=REPLACE, masked=False, keep=APPLICATION),
        about_staff("principal", "credential"),
        none("id", "document", "stored", "content_type", "size_bytes", "sha256", "infection", "received_at"),
        subject="document__application__consumer",
        purpose="uploaded files",
        kept_by="document__application",
        recipients=LENDER,
    ),
    "credit.Clock": table(
        none("id", "application", "kind", "started_at", "due_at", "stopped_at", "why", "overdue_told_at"),
    ),
    "credit.Notice": table(
        personal("content", "html", keep=APPLICATION),
        none(
            "moves", "updated_at", "id", "application", "provider_id", "move", "counteroffer", "applicant", "kind",
            "profile", "language", "due_at", "status", "waits_for", "look_at", "sha256", "mail", "created_at",
            "made_at", "delivered_at",
        ),
        exported=~Q(applicant__gt=FIRST),
        subject="application__consumer",
        purpose="notices that the law requires",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.Precontract": table(
        personal("content", "html", keep=APPLICATION),
        none(
            "id", "application", "terms_sha256", "language", "sha256", "medium", "made_at", "provided_at", "opened_at"
        ),
        subject="application__consumer",
        purpose="information that the law requires before a contract",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.NoticeHistory": table(
        personal("reason", "metadata", keep=APPLICATION),
        about_staff("changed_by", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "notice"),
        exported=~Q(notice__applicant__gt=FIRST),
        subject="notice__application__consumer",
        purpose="notices that the law requires",
        ground=LEGAL_OBLIGATION,
        kept_by="notice__application",
        recipients=LENDER,
    ),
    "credit.Delivery": table(
        personal("evidence", erase=REPLACE, masked=False, keep=APPLICATION),
        about_staff("principal", "credential"),
        none("id", "notice", "channel", "at", "recorded_at"),
        exported=~Q(notice__applicant__gt=FIRST),
        subject="notice__application__consumer",
        purpose="notices that the law requires",
        ground=LEGAL_OBLIGATION,
        kept_by="notice__application",
        recipients=LENDER,
    ),
    "credit.Consent": table(
        none("id", "user", "is_given", "text", "text_sha256", "at", "credential"),
    ),
    "credit.RetentionHold": table(
        about_staff("reason", "principal", "credential"),
        none("id", "application", "is_on", "at"),
    ),
    "credit.ReviewRequest": table(
        personal("statement", keep=APPLICATION),
        about_staff("answered_by"),
        none("id", "application", "requested_at", "due_at", "answered_at", "outcome"),
        subject="application__consumer",
        purpose="reconsiderations",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.Correction": table(
        personal("claimed", "statement", "reason", keep=APPLICATION),
        about_staff("closed_by"),
        none("id", "application", "fact", "file", "requested_at", "due_at", "outcome", "closed_at", "score"),
        subject="application__consumer",
        purpose="corrections of wrong data",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.ScoringModel": table(
        about_staff("created_by"),
        none("id", "provider", "name", "description", "created_at"),
    ),
    "credit.ModelVersion": table(
        about_staff("made_by", "published_by"),
        none(
            "id", "moves", "updated_at", "model", "number", "definition", "definition_sha256", "status", "role", "note",
            "about", "certificate", "published_at", "created_at",
        ),
    ),
    "credit.ModelVersionHistory": table(
        about_staff("changed_by", "reason", "metadata", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "version"),
    ),
    "credit.Score": table(
        personal(
            "points", "total", "outcome", "segment", "reasons", "missing", "sources", erase=REPLACE, masked=False,
            keep=APPLICATION,
        ),
        none("id", "version", "application", "user", "purpose", "facts_sha256", "number", "created_at"),
        source=THE_LENDER,
        subject="user",
        purpose="scores",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.LastScore": table(
        personal("outcome", "segment", "reasons", erase=DELETE_ROW, masked=False),
        none("id", "user", "model", "scored_at"),
        source=THE_LENDER,
        subject="user",
        purpose="matching of offers",
    ),
    "credit.ScoreFacts": table(
        personal("facts", erase=DELETE_ROW, keep=APPLICATION),
        personal("nonce", erase=DELETE_ROW, keep=APPLICATION, exported=False),
        none("score"),
        subject="score__user",
        purpose="the inputs of scores",
        ground=LEGAL_OBLIGATION,
        kept_by="score__application",
        recipients=LENDER,
    ),
    "credit.Provider": table(
        about_staff("owner"),
        none(
            "id", "name", "name_key", "address", "agency", "phone", "email", "register_number", "supervisor",
            "redress", "debt_advice", "logo_sha256", "created_at",
        ),
    ),
    "credit.ProviderLogo": table(
        none("provider", "media_type", "sha256", "content"),
    ),
    "credit.ProviderMember": table(
        about_staff("user", "role"),
        none("id", "provider"),
    ),
    "credit.ProviderInvitation": table(
        about_staff("username", "user", "role"),
        none("id", "provider", "invited_at"),
    ),
    "credit.Offer": table(
        about_staff("owner"),
        none(
            "id", "provider", "name", "name_key", "description", "product_type", "apr_min_percent", "apr_max_percent",
            "loan_amount_min_cents", "loan_amount_max_cents", "term_options_months", "nationwide", "included_states",
            "excluded_states", "customer_segment", "blockscore_model_id", "ab_test_variant", "ab_test_allocation",
            "application_schema", "required_documents", "applicant_requires", "risk_based_pricing",
            "risk_based_pricing_reason", "reports", "min_age", "jurisdiction", "regime", "regime_reason", "currency",
            "day_count", "fee_financed", "example", "apr_cap", "terms_text", "texts", "is_active", "search_words",
            "version", "created_at", "updated_at",
        ),
    ),
    "credit.Application": table(
        personal("status_reason", "application_data", "applicants", "amount_cents", "notes", keep=APPLICATION),
        personal("offer_snapshot", masked=False, keep=APPLICATION),
        personal("applicant_index", masked=False, exported=False, keep=APPLICATION),  # of both applicants
        personal("share", erase=REPLACE, masked=False, keep=APPLICATION),
        about_staff("reviewed_by", "data_changed_by"),
        none(
            "moves", "updated_at", "id", "consumer", "offer_id", "provider_id", "status", "initial_status",
            "applicants_sha256", "submitted_at", "reviewed_at", "offer_version", "accepted_at", "told_of_right_at",
            "complete_since", "withdrawn_from_at", "loan_terms", "counteroffer_moves", "created_at",
        ),
        subject="consumer",
        purpose="applications for credit",
        kept_by="pk",
        recipients=LENDER,
    ),
    "credit.PersonKey": table(
        personal("digest", erase=DELETE_ROW, secret=True, keep=APPLICATION),
        none("id", "application"),
        subject="application__consumer",
        purpose="counts of a person's applications with a lender",
        kept_by="application",
    ),
    "credit.ApplicationHistory": table(
        personal("reason", "metadata", keep=APPLICATION),
        about_staff("changed_by", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "application"),
        subject="application__consumer",
        purpose="applications for credit",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.LoanTerms": table(
        personal("amount_cents", "rate_percent", "fee_cents", erase=REPLACE, masked=False, keep=APPLICATION),
        personal(
            "term_months", "first_payment_on", "payment_cents", "final_payment_cents", "total_of_payments_cents",
            "finance_charge_cents", "amount_financed_cents", "apr_percent", masked=False, keep=APPLICATION,
        ),
        none("id", "application", "kind", "method", "as_of", "schedule_sha256", "terms_sha256", "made_at"),
        subject="application__consumer",
        purpose="applications for credit",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.Counteroffer": table(
        personal("reasons", erase=REPLACE, masked=False, keep=APPLICATION),
        personal("consumer_report", "four_eyes", masked=False, keep=APPLICATION),
        about_staff("closed_by", "offered_by", "principal", "credential"),
        none(
            "outcome", "closed_at", "id", "application", "loan_terms", "expires_at", "offered_at", "seen", "with_denial"
        ),
        subject="application__consumer",
        purpose="applications for credit",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.ApplicationRevision": table(
        personal("changes", keep=APPLICATION),
        about_staff("updated_by", "principal", "credential"),
        none("id", "application", "status", "sha256", "applicants_sha256", "changed_at"),
        subject="application__consumer",
        purpose="applications for credit",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.Acceptance": table(
        about_staff("principal", "credential"),
        none("id", "application", "terms_sha256", "loan_terms", "accepted_at", "members"),
    ),
    "credit.ContractWithdrawal": table(
        about_staff("principal", "credential"),
        none(
            "id", "application", "declared_at", "received_at", "channel", "period_ends_at", "repay_by",
            "interest_a_day_cents",
        ),
    ),
    "credit.RecordKey": table(
        none("number", "key_id", "public_key", "private_key", "valid_from"),
    ),
    "credit.DecisionAnchor": table(
        personal("record", erase=REPLACE, keep=DECISION_RECORD),
        personal("openings", keep=APPLICATION),
        personal("proof", keep=DECISION_RECORD),
        personal("nonce", erase=REPLACE, masked=False, keep=APPLICATION),
        none(
            "id", "history", "acceptance", "publication", "notice", "record_key", "withdrawal", "application",
            "signed_by", "signature", "due_at", "attempts", "last_error", "anchored_at", "block_number", "proof_file",
        ),
        subject="application__consumer",
        purpose="signed records of decisions",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.Proposal": table(
        personal("reason", "metadata", keep=APPLICATION),
        about_staff("closed_by", "proposed_by", "proposed_as"),
        none("outcome", "closed_at", "id", "application", "to", "seen", "proposed_at"),
        source=THE_LENDER,
        subject="application__consumer",
        purpose="applications for credit",
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.Report": table(
        personal("summary", "summary_sha256", keep=APPLICATION),
        personal("raw", "raw_sha256", keep=APPLICATION, exported=False),
        personal("person", erase=REPLACE, secret=True, keep=APPLICATION),
        about_staff("requested_by"),
        none(
            "id", "application", "applicant", "kind", "vendor", "purpose", "status", "requested_at", "look_at", "as_of",
            "expires_at", "score_waits",
        ),
        subject="application__consumer",
        purpose="reports of credit bureaus and income vendors",
        exported=~Q(applicant__gt=FIRST),
        only_subject=True,
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
    "credit.Confirmation": table(
        personal("value", keep=APPLICATION),
        about_staff("confirmed_by"),
        none("id", "application", "pointer", "file", "confirmed_at"),
        subject="application__consumer",
        purpose="figures that a reviewer confirmed",
        ground=LEGAL_OBLIGATION,
        kept_by="application",
        recipients=LENDER,
    ),
}  # fmt: skip
