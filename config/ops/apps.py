from django.apps import AppConfig

from config.core.registration import Declarations


class OpsConfig(Declarations, AppConfig):
    name = "config.ops"
    label = "ops"
    verbose_name = "Operations"

    prune_rules = "pruning.RULES_OF_THE_API"

    def ready(self) -> None:
        from config.ops import checks, encryption_checks  # noqa: F401  registers them
