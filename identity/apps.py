from functools import partial

from django.apps import AppConfig

from config.webhooks.catalogue import INT64, TEXT, UUID, object_of, register, said

KYC_EVENTS = {
    "created": "An identity verification was started.",
    "updated": "An identity verification moved to another status.",
}
BANK_EVENTS = {"linked": "An account at a bank was linked."}
KEY_EVENTS = {
    "created": "An API key was made.",
    "rotated": "An API key has a successor.",
    "revoked": "An API key was revoked.",
    "expiring": "An API key expires soon.",
}
_SOMETIMES = {
    "replaces": said(TEXT, "The id of the key before it."),
    "expires_at": said({"type": "string", "format": "date-time"}, "When it ends (UTC)."),
}


class IdentityConfig(AppConfig):
    name = "identity"

    def ready(self) -> None:
        from django.db.models.signals import post_delete

        from config import checks  # noqa: F401  registers them
        from config.api import capabilities
        from config.backoffice.html import register_tones
        from config.backoffice.models import Authenticator
        from config.ops import demo, readings
        from identity import metrics, pruning, sandbox_records
        from identity.access import authentication, tokens
        from identity.bank import serializers, services
        from identity.demo import seed
        from identity.kyc import machine
        from staging.registry import Kind, register_kind

        authentication.forget_on_change()
        pruning.register()
        sandbox_records.register()
        readings.register(self.get_model("KycVerification"), metrics.measure)
        verification = object_of(
            verification_id=said(UUID, "The verification's id."),
            status=said(TEXT, "How it stands now."),
            attempt=said(INT64, "Counts the person's verifications from 1."),
        )
        register("kyc.verification", verification, KYC_EVENTS, rank=40)
        item = object_of(item_id=said(TEXT, "The linked bank's id."), provider=said(TEXT, "Who gives us its data."))
        register("bankdata.item", item, BANK_EVENTS, rank=50)
        register(
            "api_key", object_of(api_key_id=said(TEXT, "The key's id."), sometimes=_SOMETIMES), KEY_EVENTS, rank=110
        )
        register_tones(
            good=[machine.VERIFIED, "active"],
            bad=[machine.FAILED, "revoked"],
            wait=[machine.PROCESSING, machine.PENDING_REVIEW],
            ask=[machine.REQUIRES_INPUT],
        )
        demo.register(seed)
        for name in ("api_keys", "signed_requests", "oauth"):
            capabilities.register(name)
        for name in ("identity", "bank_data"):
            capabilities.register(name, enabled=partial(capabilities.is_provided, "OPEN_BANKING"))
        post_delete.connect(tokens.end_log_ins_of_device, sender=Authenticator, dispatch_uid="end-log-ins-of-device")
        for name, payload, store in (
            (services.ACCOUNT_KIND, serializers.BankAccountPayload, services.store_accounts),
            (services.TRANSACTION_KIND, serializers.BankTransactionPayload, services.store_transactions),
        ):
            register_kind(Kind(name, payload=payload, store=store, attest=services.attested))
