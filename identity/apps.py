"""The app of this app."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    """Names this app's errors to the OpenAPI document and its kinds to staging; forgets credentials that change."""

    name = "identity"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect what other parts of the process need to know."""
        from django.db.models.signals import post_delete

        from config import checks  # noqa: F401  registers them
        from config.api.credentials import AmbiguousCredentials, ExpiredToken, InvalidToken, register_caller_errors
        from config.backoffice.html import register_tones
        from config.backoffice.models import Authenticator
        from config.ops import demo, readings
        from identity import events, metrics, pruning
        from identity.access import authentication, signatures, tokens
        from identity.bank import kinds
        from identity.demo import seed
        from identity.kyc import machine
        from staging.registry import Kind, register_kind

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
        pruning.register()
        readings.register(self.get_model("KycVerification"), metrics.measure)
        events.register_types()
        register_tones(
            good=[machine.VERIFIED, "active"],
            bad=[machine.FAILED, "revoked"],
            wait=[machine.PROCESSING, machine.PENDING_REVIEW],
            ask=[machine.REQUIRES_INPUT],
        )
        demo.register(seed)
        post_delete.connect(tokens.end_log_ins_of_device, sender=Authenticator, dispatch_uid="end-log-ins-of-device")
        for name, payload, store in (
            (kinds.ACCOUNT_KIND, kinds.BankAccountPayload, kinds.store_accounts),
            (kinds.TRANSACTION_KIND, kinds.BankTransactionPayload, kinds.store_transactions),
        ):
            register_kind(Kind(name, payload=payload, store=store, attest=kinds.attested))
