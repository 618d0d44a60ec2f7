"""The app of this room."""

from django.apps import AppConfig


class ClaimsConfig(AppConfig):
    """Registers claims, and claims that wait in staging."""

    name = "claims"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the staging kind `claim`."""
        from claims.serializers import ClaimPayload
        from claims.services import store_claims
        from staging.registry import register_kind

        register_kind("claim", payload=ClaimPayload, store=store_claims)
