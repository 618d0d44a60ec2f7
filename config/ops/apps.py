from django.apps import AppConfig

from config.core.registration import Declarations


class OpsConfig(Declarations, AppConfig):
    name = "config.ops"
    label = "ops"
    verbose_name = "Operations"

    personal_data = "privacy.TABLES"
    prune_rules = "pruning.RULES"
    readings = ("failed_items.READING",)
    demo = ("demo.seed",)
    encrypted = ("rotation.ANSWERS",)

    def ready(self) -> None:
        from config.ops import rotation  # noqa: F401  registers its checks
