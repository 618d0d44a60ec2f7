"""The app that brings the operators' commands."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Registers the commands; it has no tables."""

    name = "config.ops"
    label = "ops"

    def ready(self) -> None:
        """Register what `manage.py doctor` asks of every service, and what looks after values that no key opens."""
        from config.api.models import UnreadableValue
        from config.ops import doctor_checks, pruning, readings, unreadable

        doctor_checks.register_shared()
        pruning.register_own()
        pruning.register_task(unreadable.look_again)
        readings.register(UnreadableValue, unreadable.measure)
