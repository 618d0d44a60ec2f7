"""The groups of accounts, and the migration operation with which an app grants them permissions for its models.

In the back office, `Reviewer` decides records, `Support` views records, and `Operations` manages keys and webhooks. The
other groups are not staff: `Lender` may create lenders, and `Partner` may create accounts for customers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import migrations

REVIEWER, SUPPORT, OPERATIONS = "Reviewer", "Support", "Operations"
LENDER, PARTNER = "Lender", "Partner"


class GrantToGroups(migrations.RunPython):
    """Grant permissions on models to groups: `GrantToGroups("credit", {"offer": {SUPPORT: ["view"]}})`.

    A verb (`view`, `change`, `review`) is the first part of a permission's code name.
    """

    def __init__(self, app_label: str, grants: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        super().__init__(lambda apps, schema_editor: _grant(apps, app_label, grants), migrations.RunPython.noop)  # noqa: ARG005


def _grant(apps: Any, app_label: str, grants: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Create and grant the permissions, because Django would create them only after the last migration."""
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
