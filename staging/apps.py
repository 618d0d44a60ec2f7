"""The app of this room."""

from django.apps import AppConfig


class StagingConfig(AppConfig):
    """Registers staged items, and the one kind of item that staging owns."""

    name = "staging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the kind `note`."""
        from staging.notes import NotePayload, store_notes
        from staging.registry import register_kind

        register_kind("note", payload=NotePayload, store=store_notes)
