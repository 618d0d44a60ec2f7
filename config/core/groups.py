"""The groups, filled by each app for its own models.

At the back office, `Reviewer` decides records, `Support` reads them, and `Operations` manages keys and webhooks.
`Lender` and `Partner` are not staff: a lender may make a provider over the API, a partner accounts for its customers.
An app's migration grants each group's permissions there with `GrantToGroups`; no module has to know every app.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import migrations

REVIEWER, SUPPORT, OPERATIONS = "Reviewer", "Support", "Operations"
LENDER, PARTNER = "Lender", "Partner"


class GrantToGroups(migrations.RunPython):
    """Give groups permissions on models: `GrantToGroups("credit", {"offer": {SUPPORT: ["view"]}})`.

    A verb is the part before the model's name in a permission's code name: `view`, `change`, `review`.
    """

    def __init__(self, app_label: str, grants: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        super().__init__(lambda apps, schema_editor: _grant(apps, app_label, grants), migrations.RunPython.noop)  # noqa: ARG005


def _grant(apps: Any, app_label: str, grants: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Make the permissions, which Django itself would only make after the last migration, and hand them out."""
    content_types = apps.get_model("contenttypes", "ContentType").objects
    groups = apps.get_model("auth", "Group").objects
    permissions = apps.get_model("auth", "Permission").objects
    for model, by_group in grants.items():
        content_type, _ = content_types.get_or_create(app_label=app_label, model=model)
        for group_name, verbs in by_group.items():
            group, _ = groups.get_or_create(name=group_name)
            for verb in verbs:
                permission, _ = permissions.get_or_create(
                    content_type=content_type, codename=f"{verb}_{model}", defaults={"name": f"Can {verb} {model}"}
                )
                group.permissions.add(permission)
