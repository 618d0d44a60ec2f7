"""The app of this app."""

from django.apps import AppConfig


class ClaimsConfig(AppConfig):
    """Registers claims, and claims that wait in staging."""

    name = "claims"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the staging kind `claim`, and what this app gives to shared code."""
        from claims import events, machine
        from claims.demo import seed
        from claims.serializers import ClaimPayload
        from claims.services import store_claims
        from config.backoffice.html import register_tones
        from config.ops import demo, pruning
        from staging.registry import register_kind

        register_kind("claim", payload=ClaimPayload, store=store_claims)
        events.register_types()
        register_tones(good=[machine.APPROVED], bad=[machine.REVOKED, machine.DISPUTED], wait=[machine.PENDING])
        demo.register(seed)
        pruning.keeps(self.get_model("Claim"), "a deleted one is a tombstone")
        pruning.keeps(self.get_model("ClaimHistory"), "a story that only grows")
