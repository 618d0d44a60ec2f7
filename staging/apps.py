"""The app of this app."""

from django.apps import AppConfig


class StagingConfig(AppConfig):
    """Registers staged items, and the one kind of item that staging owns."""

    name = "staging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the kind `note`, and what this app gives to shared code."""
        from config.backoffice.html import register_tones
        from config.ops import demo, pruning
        from staging import events, machine
        from staging.demo import seed
        from staging.notes import NotePayload, store_notes
        from staging.registry import register_kind
        from staging.services import expire_staged

        register_kind("note", payload=NotePayload, store=store_notes)
        events.register_types()
        register_tones(good=[machine.APPROVED], bad=[machine.REJECTED], wait=[machine.STAGED])
        demo.register(seed)
        pruning.register_task(expire_staged)
        pruning.keeps(self.get_model("StagedItem"), "decided ones say where a permanent record came from")
        pruning.keeps(self.get_model("Approval"), "evidence of a person's yes")
        pruning.keeps(self.get_model("Note"), "permanent once approved")
