"""Test the migrations, and the rules of docs/design/scaling.md for primary keys."""

import re

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from config.core.indexes import AddCheckWithoutLock
from config.ops.management.commands.makemigrations import Autodetector
from credit.anchoring import record_keys
from credit.models import DecisionAnchor
from tests.documents import page


def operations_for(**options):
    """Return the operations of the migration that gives a column of claims these options."""
    loader = MigrationLoader(None)
    before, after = loader.project_state(), loader.project_state()
    for state, original in ((before, {"max_length": 9, "help_text": "Before."}), (after, {"max_length": 9} | options)):
        state.models["claims", "claim"].fields["name"] = models.CharField(**original)
    changes = Autodetector(before, after).changes(graph=loader.graph)
    return [
        operation for migrations in changes.values() for migration in migrations for operation in migration.operations
    ]


def test_only_a_field_change_that_affects_the_database_column_requires_a_migration():
    assert operations_for(help_text="After.") == []
    (operation,) = operations_for(max_length=10, help_text="After.")
    assert (operation.name, operation.field.max_length, operation.field.help_text) == ("name", 10, "")


OURS = {"api", "webhooks", "identity", "credit", "claims", "payments", "staging", "backoffice"}
# Nearly every write request writes these tables.
HOT = {
    "credit_application", "credit_applicationhistory", "credit_applicationrevision", "credit_decisionanchor",
    "claims_claim", "claims_claimhistory", "staging_stageditem", "staging_approval", "webhooks_event",
    "webhooks_delivery", "api_idempotencyrecord", "identity_refreshtoken", "identity_usedsignature",
    "payments_paymentattempt", "payments_cryptopayment", "payments_wallet",
}  # fmt: skip


def numbered():
    """Return our own tables whose primary key is a sequence."""
    own = [model for model in apps.get_models() if model._meta.app_label in OURS]
    return {model._meta.db_table for model in own if isinstance(model._meta.pk, models.AutoField)}


def test_frequently_written_table_has_no_sequence_as_primary_key():
    known = {model._meta.db_table for model in apps.get_models()}
    assert known >= HOT
    assert not HOT & numbered()


def test_the_scaling_page_lists_every_table_with_a_sequence():
    (line,) = re.findall(r"^Numbered ids remain .*$", page("design/scaling.md"), re.MULTILINE)
    assert set(re.findall(r"`([a-z_]+)`", line)) == numbered()


@pytest.mark.django_db
@pytest.mark.usefixtures("needs_postgresql")
def test_check_constraint_left_by_an_interrupted_migration_is_validated():
    operation = AddCheckWithoutLock(
        model_name="decisionanchor",
        constraint=models.CheckConstraint(condition=models.Q(attempts__lt=9), name="of_this_test"),
    )
    table, validity = DecisionAnchor._meta.db_table, "SELECT convalidated FROM pg_constraint WHERE conname = %s"
    state = MigrationLoader(None).project_state()
    with connection.schema_editor() as editor, connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT of_this_test CHECK (attempts < 8) NOT VALID")
        operation.database_forwards("credit", editor, state, state)
        cursor.execute(validity, ["of_this_test"])
        assert cursor.fetchall() == [(True,)]


@pytest.mark.django_db
@pytest.mark.usefixtures("needs_postgresql")
def test_check_constraint_that_a_row_violates_is_not_added():
    DecisionAnchor.objects.create(record="{}", record_key=record_keys.key_at(timezone.now()), due_at=timezone.now())
    connection.check_constraints()
    operation = AddCheckWithoutLock(
        model_name="decisionanchor",
        constraint=models.CheckConstraint(condition=models.Q(attempts__gt=9), name="of_this_test"),
    )
    state = MigrationLoader(None).project_state()
    with pytest.raises(IntegrityError), transaction.atomic(), connection.schema_editor() as editor:
        operation.database_forwards("credit", editor, state, state)
