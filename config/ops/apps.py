from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "config.ops"
    label = "ops"

    def ready(self) -> None:
        from config.api.models import UnreadableValue
        from config.ops import doctor, pruning, readings, unreadable

        doctor.register("encryption_keys", unreadable.check_keys, at_start=True)
        pruning.register_task(unreadable.look_again)
        readings.register(UnreadableValue, unreadable.measure)
