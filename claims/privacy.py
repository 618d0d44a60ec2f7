"""The personal data in the tables of this app. `config.core.privacy` describes the format."""

from config.core.privacy import LEGITIMATE_INTEREST, REPLACE, about_staff, none, personal, table

TABLES = {
    "claims.Claim": table(
        personal("evidence", erase=REPLACE),
        personal("notes"),
        personal("publication_id", "publication_key", erase=REPLACE, masked=False),
        about_staff("deleted_by", "deleted_with"),
        none(
            "moves", "updated_at", "id", "user", "claim_type", "status", "verification_level", "visibility",
            "approved_at", "revoked_at", "content_changed_at", "created_at", "deleted_at",
        ),
        subject="user", purpose="claims to publications",
    ),
    "claims.ClaimHistory": table(
        personal("reason", "metadata"),
        about_staff("changed_by", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "claim"),
        subject="claim__user", purpose="the audit log of claims", ground=LEGITIMATE_INTEREST,
    ),
}  # fmt: skip
