"""The app of this room."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    """Names this room's errors to the OpenAPI document and its kinds to staging; forgets credentials that change."""

    name = "identity"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect what other parts of the process need to know."""
        from config import checks  # noqa: F401  registers them
        from config.api.credentials import AmbiguousCredentials, ExpiredToken, InvalidToken, register_caller_errors
        from identity import authentication, signatures
        from identity.bank import kinds
        from staging.registry import register_kind

        register_caller_errors(
            InvalidToken,
            ExpiredToken,
            AmbiguousCredentials,
            authentication.KeyExpiredOrRevoked,
            signatures.InvalidSignature,
            signatures.SignatureReplayed,
            signatures.TimestampOutOfRange,
        )
        authentication.forget_on_change()
        register_kind(kinds.ACCOUNT_KIND, payload=kinds.BankAccountPayload, store=kinds.store_accounts)
        register_kind(kinds.TRANSACTION_KIND, payload=kinds.BankTransactionPayload, store=kinds.store_transactions)
