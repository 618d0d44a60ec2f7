"""The groups of the back office, filled by each app for its own models.

`Reviewer` decides about people's records, `Support` reads, `Operations` looks after keys and webhooks. An app's
migration says what each group may do there with `GrantToGroups`; nobody needs to know every app.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import migrations

REVIEWER, SUPPORT, OPERATIONS = "Reviewer", "Support", "Operations"


class GrantToGroups(migrations.RunPython):
    """Give groups permissions on one model: `GrantToGroups("credit", "offer", {SUPPORT: ["view"]})`.

    A verb is what stands before the model's name in a permission's code name: `view`, `change`, `review`.
    """

    def __init__(self, app_label: str, model: str, grants: Mapping[str, Sequence[str]]) -> None:
        self.described = (app_label, model, dict(grants))
        super().__init__(lambda apps, _editor: _grant(apps, app_label, model, grants), migrations.RunPython.noop)

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__qualname__, list(self.described), {}

    def describe(self) -> str:
        return f"Grant permissions on {self.described[0]}.{self.described[1]}"


def _grant(apps: Any, app_label: str, model: str, grants: Mapping[str, Sequence[str]]) -> None:
    content_type, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label=app_label, model=model
    )
    for group_name, verbs in grants.items():
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=group_name)
        for verb in verbs:
            permission, _ = apps.get_model("auth", "Permission").objects.get_or_create(
                content_type=content_type, codename=f"{verb}_{model}", defaults={"name": f"Can {verb} {model}"}
            )
            group.permissions.add(permission)
