from django.apps import AppConfig


class DocsConfig(AppConfig):
    name = "config.docs"
    label = "docs"
    verbose_name = "Documentation"
