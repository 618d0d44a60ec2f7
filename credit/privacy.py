"""Declare the personal data in the tables of this app. `config.core.privacy` explains the terms."""

from functools import partial
from typing import Any

from django.db.models import Q

from config.core.privacy import (
    DELETE_ROW,
    LEGAL_OBLIGATION,
    REPLACE,
    Fields,
    Keep,
    Table,
    about_staff,
    none,
    personal,
    table,
)
from credit.core.applicants import FIRST

APPLICATION = Keep(
    "application_records",
    "applications and their records: 25 months from a notice, 24 months from an acceptance, 36 months from a score, "
    "the term of a loan, or longer for a court case",
    "12 CFR 1002.12(b)(1); 12 CFR 1026.25(a); Colorado SB 26-189",
)

# The proof contains only the hash of a record, so it can only be verified while the record is stored.
DECISION_RECORD = Keep(
    "decision_records",
    "signed records of decisions, permanently; records of versions 1 to 3 also contain the text of the reason",
    "GDPR Article 17(3)(e)",
    is_permanent=True,
)

LENDER = "the lender that the application was sent to"
THE_LENDER = "the lender"


def _record(*groups: Fields, under: str = "", **about: Any) -> Table:
    """Declare a table that is retained as long as its application. `under` is the lookup prefix of `application`."""
    subject, kept_by = f"{under}application__consumer", f"{under}application"
    return table(*groups, subject=subject, kept_by=kept_by, recipients=LENDER, **about)


_legal_record = partial(_record, ground=LEGAL_OBLIGATION)
TABLES = {
    "credit.RequestedDocument": _record(
        personal("name", erase=REPLACE, masked=False, keep=APPLICATION),
        personal("reason", erase=REPLACE, keep=APPLICATION),
        about_staff("changed_by"),
        none(
            "id", "application", "status", "requested_at", "received_at", "accepted_at", "language", "reason_language",
        ),
        source=THE_LENDER,
        purpose="applications for credit",
    ),
    "credit.StoredFile": _record(
        personal("key", erase=REPLACE, secret=True, keep=APPLICATION),
        none("id", "begun_at", "is_kept", "deleted_at"),
        under="file__document__",
        purpose="uploaded files",
        by_value=True,
    ),
    "credit.DocumentFile": _record(
        personal("name", erase=REPLACE, masked=False, keep=APPLICATION),
        about_staff("principal", "credential"),
        none("id", "document", "stored", "content_type", "size_bytes", "sha256", "infection", "received_at"),
        under="document__",
        purpose="uploaded files",
    ),
    "credit.Clock": table(
        none("id", "application", "kind", "started_at", "due_at", "stopped_at", "why", "overdue_told_at"),
    ),
    "credit.Notice": _legal_record(
        personal("content", "html", keep=APPLICATION),
        none(
            "moves", "updated_at", "id", "application", "provider_id", "move", "counteroffer", "applicant", "kind",
            "profile", "language", "due_at", "status", "waits_for", "look_at", "sha256", "mail", "created_at",
            "made_at", "delivered_at",
        ),
        exported=~Q(applicant__gt=FIRST),
        purpose="notices that the law requires",
    ),
    "credit.Precontract": _legal_record(
        personal("content", "html", keep=APPLICATION),
        none(
            "id", "application", "terms_sha256", "language", "sha256", "medium", "made_at", "provided_at", "opened_at"
        ),
        purpose="information that the law requires before a contract",
    ),
    "credit.NoticeHistory": _legal_record(
        personal("reason", "metadata", keep=APPLICATION),
        about_staff("changed_by", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "notice"),
        exported=~Q(notice__applicant__gt=FIRST),
        under="notice__",
        purpose="notices that the law requires",
    ),
    "credit.Delivery": _legal_record(
        personal("evidence", erase=REPLACE, masked=False, keep=APPLICATION),
        about_staff("principal", "credential"),
        none("id", "notice", "channel", "at", "recorded_at"),
        exported=~Q(notice__applicant__gt=FIRST),
        under="notice__",
        purpose="notices that the law requires",
    ),
    "credit.Consent": table(none("id", "user", "is_given", "text", "text_sha256", "at", "credential")),
    "credit.RetentionHold": table(
        about_staff("reason", "principal", "credential"),
        none("id", "application", "is_on", "at"),
    ),
    "credit.ReviewRequest": _legal_record(
        personal("statement", keep=APPLICATION),
        about_staff("answered_by"),
        none("id", "application", "requested_at", "due_at", "answered_at", "outcome"),
        purpose="reconsiderations",
    ),
    "credit.Correction": _legal_record(
        personal("claimed", "statement", "reason", keep=APPLICATION),
        about_staff("closed_by"),
        none("id", "application", "fact", "file", "requested_at", "due_at", "outcome", "closed_at", "score",
             "reason_language"),
        purpose="corrections of wrong data",
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
    "credit.ProviderLogo": table(none("provider", "media_type", "sha256", "content")),
    "credit.ProviderMember": table(about_staff("user", "role"), none("id", "provider")),
    "credit.ProviderInvitation": table(
        about_staff("username", "user", "role", "invited_by"), none("id", "provider", "invited_at")
    ),
    "credit.Offer": table(
        about_staff("owner"),
        none(
            "id", "provider", "name", "name_key", "description", "product_type", "apr_min_percent", "apr_max_percent",
            "loan_amount_min_cents", "loan_amount_max_cents", "term_options_months", "nationwide", "included_states",
            "excluded_states", "customer_segment", "blockscore_model_id", "ab_test_variant", "ab_test_allocation",
            "application_schema", "required_documents", "applicant_requires", "risk_based_pricing",
            "risk_based_pricing_reason", "reports", "min_age", "jurisdiction", "regime", "regime_reason", "currency",
            "day_count", "fee_financed", "example", "apr_cap", "terms_text", "texts", "language",
            "translations", "is_active", "search_words", "version", "created_at", "updated_at",
        ),
    ),
    "credit.Application": table(
        personal("status_reason", "application_data", "applicants", "amount_cents", "notes", keep=APPLICATION),
        personal("offer_snapshot", masked=False, keep=APPLICATION),
        # The index has data of both applicants.
        personal("applicant_index", masked=False, exported=False, keep=APPLICATION),
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
    "credit.PartialApplicants": table(
        personal("entered", erase=DELETE_ROW),
        none("application"),
        subject="application__consumer",
        purpose="applications for credit",
    ),
    "credit.ApplicationHistory": _legal_record(
        personal("reason", "metadata", keep=APPLICATION),
        about_staff("changed_by", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "application"),
        purpose="applications for credit",
    ),
    "credit.LoanTerms": _legal_record(
        personal("amount_cents", "rate_percent", "fee_cents", erase=REPLACE, masked=False, keep=APPLICATION),
        personal(
            "term_months", "first_payment_on", "payment_cents", "final_payment_cents", "total_of_payments_cents",
            "finance_charge_cents", "amount_financed_cents", "apr_percent", masked=False, keep=APPLICATION,
        ),
        none("id", "application", "kind", "method", "as_of", "schedule_sha256", "terms_sha256", "made_at"),
        purpose="applications for credit",
    ),
    "credit.Counteroffer": _legal_record(
        personal("reasons", erase=REPLACE, masked=False, keep=APPLICATION),
        personal("consumer_report", "four_eyes", masked=False, keep=APPLICATION),
        about_staff("closed_by", "offered_by", "principal", "credential"),
        none(
            "outcome", "closed_at", "id", "application", "loan_terms", "expires_at", "offered_at", "seen", "with_denial"
        ),
        purpose="applications for credit",
    ),
    "credit.ApplicationRevision": _legal_record(
        personal("changes", keep=APPLICATION),
        about_staff("updated_by", "principal", "credential"),
        none("id", "application", "status", "sha256", "applicants_sha256", "changed_at"),
        purpose="applications for credit",
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
    "credit.RecordKey": table(none("number", "key_id", "public_key", "private_key", "valid_from")),
    "credit.DecisionAnchor": _legal_record(
        personal("record", erase=REPLACE, keep=DECISION_RECORD),
        personal("openings", keep=APPLICATION),
        personal("proof", keep=DECISION_RECORD),
        personal("nonce", erase=REPLACE, masked=False, keep=APPLICATION),
        none(
            "id", "history", "acceptance", "publication", "notice", "record_key", "withdrawal", "application",
            "signed_by", "signature", "due_at", "attempts", "last_error", "anchored_at", "block_number", "proof_file",
        ),
        purpose="signed records of decisions",
    ),
    "credit.Proposal": _record(
        personal("reason", "metadata", keep=APPLICATION),
        about_staff("closed_by", "proposed_by", "proposed_as"),
        none("outcome", "closed_at", "id", "application", "to", "seen", "proposed_at"),
        source=THE_LENDER,
        purpose="applications for credit",
    ),
    "credit.Report": _legal_record(
        personal("summary", "summary_sha256", keep=APPLICATION),
        personal("raw", "raw_sha256", keep=APPLICATION, exported=False),
        personal("person", erase=REPLACE, secret=True, keep=APPLICATION),
        about_staff("requested_by"),
        none(
            "id", "application", "applicant", "kind", "vendor", "purpose", "status", "requested_at", "look_at", "as_of",
            "expires_at", "score_waits",
        ),
        purpose="reports of credit bureaus and income vendors",
        exported=~Q(applicant__gt=FIRST),
        only_subject=True,
    ),
    "credit.Confirmation": _legal_record(
        personal("value", keep=APPLICATION),
        about_staff("confirmed_by"),
        none("id", "application", "pointer", "file", "confirmed_at"),
        purpose="figures that a reviewer confirmed",
    ),
}  # fmt: skip
