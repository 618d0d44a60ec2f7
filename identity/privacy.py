"""The personal data in the tables of this app. `config.core.privacy` defines the terms."""

from config.core.privacy import (
    CONSENT,
    DELETE_ROW,
    LEGAL_OBLIGATION,
    LEGITIMATE_INTEREST,
    NULL,
    REPLACE,
    about_staff,
    none,
    personal,
    table,
)

TABLES = {
    "auth.Permission": table(none("id", "name", "content_type", "codename")),
    "auth.Group_permissions": table(none("id", "group", "permission")),
    "auth.Group": table(none("id", "name")),
    "contenttypes.ContentType": table(none("id", "app_label", "model")),
    "sessions.Session": table(
        personal("session_data", "session_key", erase=DELETE_ROW, secret=True),
        none("expire_date"),
        subject="session_key", purpose="log-ins in a browser", by_value=True,
    ),
    "oauth2_provider.Grant": table(
        personal("code", "code_challenge", "nonce", "claims", erase=DELETE_ROW, secret=True),
        none(
            "id", "user", "application", "expires", "redirect_uri", "scope", "created", "updated",
            "code_challenge_method", "resource",
        ),
        subject="user", purpose="authorizations of apps", ground=CONSENT,
    ),
    "oauth2_provider.AccessToken": table(
        personal("token", "token_checksum", erase=DELETE_ROW, secret=True),
        none(
            "id", "user", "source_refresh_token", "id_token", "application", "expires", "scope", "resource", "created",
            "updated",
        ),
        subject="user", purpose="authorizations of apps", ground=CONSENT,
    ),
    "oauth2_provider.RefreshToken": table(
        personal("token", "token_checksum", erase=DELETE_ROW, secret=True),
        none("id", "user", "application", "access_token", "token_family", "resource", "created", "updated", "revoked"),
        subject="user", purpose="authorizations of apps", ground=CONSENT,
    ),
    "oauth2_provider.IDToken": table(
        personal("jti", erase=DELETE_ROW, secret=True),
        none("id", "user", "application", "expires", "scope", "created", "updated"),
        subject="user", purpose="authorizations of apps", ground=CONSENT,
    ),
    "oauth2_provider.DeviceGrant": table(
        personal("device_code", "user_code", erase=DELETE_ROW, secret=True),
        none("id", "user", "scope", "interval", "expires", "status", "client_id", "last_checked"),
        subject="user", purpose="authorizations of apps", ground=CONSENT,
    ),
    "identity.User_groups": table(about_staff("user", "group"), none("id")),
    "identity.User_user_permissions": table(about_staff("user", "permission"), none("id")),
    "identity.User": table(
        personal("username", erase=REPLACE, masked=False),
        personal("first_name", "last_name", "email", erase=REPLACE),
        personal("password", erase=REPLACE, secret=True),
        personal("last_login", "language", masked=False),
        none(
            "id", "is_superuser", "is_staff", "is_active", "date_joined", "credentials_changed_at", "wants_mail",
            "erased_at",
        ),
        subject="pk", purpose="the account",
    ),
    "identity.SigningKey": table(none("kid", "private_key", "public_jwk", "created_at", "signs_from", "retires_at")),
    "identity.OAuthClient": table(
        personal("client_secret", erase=DELETE_ROW, secret=True),
        personal(
            "name", "redirect_uris", "post_logout_redirect_uris", "allowed_origins", erase=DELETE_ROW, masked=False
        ),
        personal("name_key", erase=DELETE_ROW, masked=False),
        none(
            "id", "client_id", "client_type", "authorization_grant_type", "hash_client_secret", "skip_authorization",
            "created", "updated", "algorithm", "registration_source", "cimd_expires_at", "user", "scopes",
        ),
        subject="user", purpose="apps that the account registered",
    ),
    "identity.TokenFamily": table(
        personal("code_sha256", erase=DELETE_ROW, secret=True),
        none("id", "user", "client", "scope", "actor", "second_factor", "created_at", "revoked_at", "ends_at"),
        subject="user", purpose="log-ins and authorizations of apps",
    ),
    "identity.RefreshToken": table(
        personal("digest", erase=DELETE_ROW, secret=True),
        none("id", "family", "created_at", "expires_at", "used_at"),
        subject="family__user", purpose="log-ins and authorizations of apps",
    ),
    "identity.ApiKey": table(
        personal("name", erase=REPLACE, masked=False),
        personal("name_key", erase=NULL, masked=False),
        personal("digest", "secret", erase=REPLACE, secret=True),
        personal("last_used_at", masked=False),
        none(
            "id", "owner", "scopes", "created_at", "expires_at", "revoked_at", "suspended_at", "second_factor",
            "expiry_announced_at", "replaces", "collect_grace_days",
        ),
        subject="owner", purpose="API requests with the account's keys",
    ),
    "identity.Consent": table(
        personal("scope", "text_sha256", erase=DELETE_ROW, masked=False),
        none("id", "account", "kind", "reference", "given_at", "ends_at", "ended_at"),
        subject="account", purpose="the consents of the account", ground=LEGAL_OBLIGATION,
    ),
    "identity.UsedSignature": table(none("digest", "idempotency_key", "expires_at")),
    "identity.AccountHistory": table(
        personal("object_id", erase=REPLACE, masked=False),
        personal("details", masked=False),
        about_staff("principal", "credential"),
        none("id", "account", "action", "at"),
        subject="account", purpose="the audit log of the account", ground=LEGITIMATE_INTEREST,
    ),
    "identity.Invitation": table(
        personal("email", erase=REPLACE),
        about_staff("invited_by"),
        none(
            "id", "role", "provider_id", "group", "accepted_by", "created_at", "expires_at", "accepted_at", "revoked_at"
        ),
        subject="accepted_by", purpose="invitations to a role",
    ),
    "identity.ManagedAccount": table(
        personal("email", "name"),
        personal("external_id", erase=REPLACE),
        none("user", "partner", "claimed_at", "ended_at", "created_at"),
        subject="user", purpose="accounts that a partner created",
    ),
    "identity.OneTimeLink": table(
        personal("email", erase=DELETE_ROW),
        personal("digest", erase=DELETE_ROW, secret=True),
        none("id", "purpose", "subject", "created_at", "expires_at", "used_at"),
        subject="subject", purpose="mailed links",
    ),
    "identity.RecoveryCode": table(
        personal("hash", erase=DELETE_ROW, secret=True),
        none("id", "user", "created_at"),
        subject="user", purpose="log-in with a recovery code",
    ),
    "identity.DeletionRequest": table(
        personal("requested_at", erase=DELETE_ROW, masked=False),
        none("user"),
        subject="user", purpose="requests to delete an account", ground=LEGAL_OBLIGATION,
    ),
    "identity.Export": table(
        personal("key", erase=DELETE_ROW, secret=True),
        about_staff("requested_by"),
        none("id", "account", "status", "name", "language", "claimed_until", "created_at", "ready_at", "expires_at"),
        subject="account", purpose="copies of the account's data", ground=LEGAL_OBLIGATION,
        retention="7 days for the file",
    ),
    "identity.Erasure": table(
        none("id", "account", "subject_key", "status", "requested_at", "look_at", "due_at", "kept", "completed_at"),
    ),
    "identity.BankItem": table(
        personal("access_token", "token_fingerprint", erase=DELETE_ROW, secret=True),
        personal("item_id", "institution_name", erase=DELETE_ROW, masked=False),
        none(
            "id", "user", "provider", "needs_login", "accounts_staged_at", "transactions_since", "transactions_staged",
            "gone_at", "unlinked_at", "linked_at", "updated_at",
        ),
        subject="user", purpose="linked banks", ground=CONSENT, source="the bank, through the vendor of bank data",
    ),
    "identity.BankAccount": table(
        personal("name", "official_name", "mask", "available_cents", "current_cents", "limit_cents", erase=DELETE_ROW),
        personal(
            "account_id", "item_id", "institution_id", "persistent_account_id", "balance_on", erase=DELETE_ROW,
            masked=False,
        ),
        none("id", "user", "type", "subtype", "currency", "from_provider", "created_at", "updated_at"),
        subject="user", purpose="accounts at linked banks", ground=CONSENT,
        source="the bank, through the vendor of bank data",
    ),
    "identity.BankTransaction": table(
        personal("name", "merchant_name", "amount_cents", erase=DELETE_ROW),
        personal("transaction_id", "account_id", "item_id", "date", "category", erase=DELETE_ROW, masked=False),
        none("id", "user", "currency", "pending", "from_provider", "created_at", "updated_at"),
        subject="user", purpose="transactions of linked banks", ground=CONSENT,
        source="the bank, through the vendor of bank data",
    ),
    "identity.KycVerification": table(
        personal("last_error", "status_reason"),
        personal("steps", "name_match", "provider_reference", erase=REPLACE, masked=False),
        personal("hosted_url", "redirect_uri", "template_id", masked=False),
        none(
            "moves", "updated_at", "id", "user", "attempt", "previous_attempt", "status", "provider", "provider_status",
            "expires_at", "refreshed_at", "completed_at", "created_at",
        ),
        subject="user", purpose="verification of the identity", ground=LEGAL_OBLIGATION,
        source="the person, and the vendor of identity checks", recipients="the vendor of identity checks",
    ),
    "identity.KycVerificationHistory": table(
        personal("reason", "metadata"),
        about_staff("changed_by", "principal", "credential"),
        none("id", "position", "status", "previous_status", "changed_at", "verification"),
        subject="verification__user", purpose="the audit log of verifications", ground=LEGAL_OBLIGATION,
    ),
    "identity.SandboxVerification": table(
        none("reference", "page_token", "redirect_uri", "progress", "created_at", "completed_at"),
    ),
    "identity.SandboxItem": table(
        none("item_id", "public_digest", "access_digest", "login_required", "created_at", "removed_at"),
    ),
    "account.EmailAddress": table(
        personal("email", erase=DELETE_ROW),
        none("id", "user", "verified", "primary"),
        subject="user", purpose="mail to the account",
    ),
    "account.EmailConfirmation": table(
        personal("key", erase=DELETE_ROW, secret=True),
        none("id", "email_address", "created", "sent"),
        subject="email_address__user", purpose="confirmation of addresses",
    ),
    "mfa.Authenticator": table(
        personal("data", erase=DELETE_ROW, secret=True),
        none("id", "user", "type", "created_at", "last_used_at"),
        subject="user", purpose="the second factor",
    ),
    "usersessions.UserSession": table(
        personal("ip", "user_agent", "data", erase=DELETE_ROW),
        personal("session_key", erase=DELETE_ROW, secret=True),
        none("id", "user", "created_at", "last_seen_at"),
        subject="user", purpose="log-ins in a browser", ground=LEGITIMATE_INTEREST,
    ),
    "identity.IssuerSession": table(
        personal("sid", erase=DELETE_ROW, masked=False),
        none("id", "identity", "began_at", "ended_at"),
        subject="identity__user", purpose="single sign-on of staff", ground=LEGITIMATE_INTEREST,
    ),
    "identity.StaffIdentity": table(
        personal("issuer", "subject", erase=DELETE_ROW, masked=False),
        none("id", "user", "created_at"),
        subject="user", purpose="single sign-on of staff", ground=LEGITIMATE_INTEREST,
    ),
}  # fmt: skip
