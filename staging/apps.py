from django.apps import AppConfig

from config.webhooks.catalogue import TEXT, UUID, object_of, register, said

EVENTS = {
    "staged": "An item waits for its owner's decision.",
    "approved": "An item was approved and stored.",
    "rejected": "An item was rejected.",
    "expired": "An item expired undecided.",
}


class StagingConfig(AppConfig):
    name = "staging"

    def ready(self) -> None:
        from config.api import capabilities
        from config.backoffice.html import register_tones
        from config.ops import demo, pruning
        from staging import machine, sandbox_records
        from staging.demo import seed
        from staging.registry import Kind, register_kind
        from staging.serializers import NotePayload
        from staging.services import expire_staged, store_notes

        item = object_of(
            item_id=said(UUID, "The item's id."),
            kind=said(TEXT, "What its payload is."),
            status=said(TEXT, "How it stands now."),
        )
        register("staging.item", item, EVENTS, rank=100)
        register_kind(Kind("note", payload=NotePayload, store=store_notes))
        register_tones(good=[machine.APPROVED], bad=[machine.REJECTED], wait=[machine.STAGED])
        demo.register(seed)
        capabilities.register("staging")
        pruning.register_task(expire_staged)
        sandbox_records.register()
