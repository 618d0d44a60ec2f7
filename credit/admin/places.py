"""Where the pages of scoring models lie, and what links to them are called."""

from django.utils.safestring import SafeString

from config.backoffice.html import record_link
from credit.scoring.models import ModelVersion


def name_of(version: ModelVersion) -> str:
    return f"{version.model.name}, version {version.number}"


def version_link(version: ModelVersion) -> SafeString | str:
    return record_link("credit_modelversion", version.pk, name_of(version))
