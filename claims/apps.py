from django.apps import AppConfig

from config.webhooks.catalogue import TEXT, UUID, object_of, register, said

EVENTS = {
    "created": "A publication claim was made.",
    "updated": "A claim's evidence, notes, level or visibility changed.",
    "pending": "A claim waits for a decision.",
    "approved": "A claim was approved.",
    "disputed": "A claim is disputed.",
    "revoked": "A claim was revoked.",
    "draft": "A claim went back to its author.",
    "deleted": "A claim was deleted.",
}


class ClaimsConfig(AppConfig):
    name = "claims"

    def ready(self) -> None:
        from claims import machine, sandbox_records
        from claims.demo import seed
        from claims.serializers import ClaimPayload
        from claims.services import store_claims
        from config.api import capabilities
        from config.backoffice.html import register_tones
        from config.ops import demo
        from staging.registry import Kind, register_kind

        register(
            "claim",
            object_of(
                claim_id=said(UUID, "The claim's id."),
                status=said(TEXT, "Where it stands now."),
                verification_level=said(TEXT, "How far it is verified."),
                visibility=said(TEXT, "Who sees it."),
            ),
            EVENTS,
            rank=20,
        )
        register_kind(Kind("claim", payload=ClaimPayload, store=store_claims))
        register_tones(good=[machine.APPROVED], bad=[machine.REVOKED, machine.DISPUTED], wait=[machine.PENDING])
        demo.register(seed)
        capabilities.register("claims")
        sandbox_records.register()
