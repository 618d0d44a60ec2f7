"""Make user names unique in any case. Of names that differ only in their case, the oldest account's stays.

The others get a suffix, which the account history records: `doctor` lists them, and going back restores them.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Count, Min, Value
from django.db.models.functions import Lower
from django.utils import timezone

RENAMED = "account.renamed"
NAME_MAX = 150


def rename_colliding(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    users = apps.get_model("identity", "User").objects.using(alias)
    history = apps.get_model("identity", "AccountHistory").objects.using(alias)
    folded = users.order_by().annotate(folded=Lower("username"))
    colliding = folded.values("folded").annotate(number=Count("pk"), oldest=Min("pk")).filter(number__gt=1)
    for group in list(colliding):
        later = folded.filter(folded=group["folded"]).exclude(pk=group["oldest"]).order_by("pk")
        for pk, before in list(later.values_list("pk", "username")):
            after = _free_name(folded, before)
            users.filter(pk=pk).update(username=after)
            history.create(
                account_id=pk,
                principal_id=None,
                credential="migration",
                action=RENAMED,
                object_id=str(pk),
                details={"from": before, "to": after},
                at=timezone.now(),
            )


def _free_name(folded: Any, name: str) -> str:
    number = 2
    while True:
        suffix = f"-{number}"
        candidate = name[: NAME_MAX - len(suffix)] + suffix
        if not folded.filter(folded=Lower(Value(candidate))).exists():
            return candidate
        number += 1


def restore_names(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    users = apps.get_model("identity", "User").objects.using(alias)
    for row in apps.get_model("identity", "AccountHistory").objects.using(alias).filter(action=RENAMED):
        names = row.details
        if not users.filter(username=names["from"]).exists():
            users.filter(pk=row.account_id, username=names["to"]).update(username=names["from"])


class Migration(migrations.Migration):
    dependencies = [("identity", "0007_bank_items")]
    changes = ["identity_user.username", "identity_accounthistory"]

    operations = [
        migrations.AlterModelManagers(name="user", managers=[]),
        migrations.RunPython(rename_colliding, restore_names),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                Lower("username"),
                name="identity_user_name",
                violation_error_message="An account with this user name exists. Upper and lower case are the same.",
            ),
        ),
    ]
