from django.apps import AppConfig


class IdentityConfig(AppConfig):
    name = "identity"

    def ready(self) -> None:
        from django.db.models.signals import post_delete

        from config import checks  # noqa: F401  registers them
        from config.api.credentials import AmbiguousCredentials, ExpiredToken, InvalidToken, register_caller_errors
        from config.backoffice.html import register_tones
        from config.backoffice.models import Authenticator
        from config.ops import demo, readings
        from identity import errors, events, metrics, pruning
        from identity.access import authentication, tokens
        from identity.bank import serializers, services
        from identity.demo import seed
        from identity.kyc import machine
        from staging.registry import Kind, register_kind

        register_caller_errors(
            InvalidToken,
            ExpiredToken,
            AmbiguousCredentials,
            errors.KeyExpiredOrRevoked,
            errors.InvalidSignature,
            errors.SignatureReplayed,
            errors.TimestampOutOfRange,
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
            (services.ACCOUNT_KIND, serializers.BankAccountPayload, services.store_accounts),
            (services.TRANSACTION_KIND, serializers.BankTransactionPayload, services.store_transactions),
        ):
            register_kind(Kind(name, payload=payload, store=store, attest=services.attested))
