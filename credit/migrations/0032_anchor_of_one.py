"""Require that a record for the ledger has one subject."""

from django.db import migrations
from django.db.models import CheckConstraint, Q

from config.core.indexes import AddCheckWithoutLock

SUBJECTS = ("history", "acceptance", "publication", "record_key", "notice", "withdrawal")


def _only(about: str) -> Q:
    return Q(**{f"{name}__isnull": name != about for name in SUBJECTS})


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("credit", "0031_anchor_withdrawal"),
    ]

    operations = [
        AddCheckWithoutLock(
            model_name="decisionanchor",
            constraint=CheckConstraint(
                condition=_only("history")
                | _only("acceptance")
                | _only("notice")
                | _only("withdrawal")
                | ((_only("publication") | _only("record_key")) & Q(application__isnull=True)),
                name="credit_anchor_of_one",
            ),
        ),
    ]
