from functools import partial
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.commands.migrate import Command as Migrate
from django.db import connections, router
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import SeparateDatabaseAndState
from django.db.migrations.operations.fields import FieldOperation
from django.db.migrations.operations.models import IndexOperation, ModelOperation

from config.core.databases import advisory_lock, retry_deadlocks
from config.core.indexes import AddFields
from config.ops.checks import check_installation
from config.ops.management.commands.makemigrations import Autodetector

SCHEMA_OPERATIONS = (ModelOperation, FieldOperation, IndexOperation, SeparateDatabaseAndState, AddFields)
PARTIAL = ("app_label", "fake", "fake_initial", "plan", "check_unapplied", "prune")


class Command(Migrate):
    """Migrate a database under a lock, so that concurrent runs wait for each other.

    The command rejects a database of another ENVIRONMENT. In an empty database, the command creates the newest tables
    without separate migrations.
    """

    autodetector = Autodetector

    def execute(self, *arguments: Any, **options: Any) -> Any:
        # The lock also covers Django's checks, whose queries fail on SQLite during another migration.
        with advisory_lock(options["database"], purpose="migrate"):
            for problem in check_installation([options["database"]]):
                if problem.is_serious():
                    raise ImproperlyConfigured(str(problem.msg))
            # Concurrent requests can cause deadlocks. Applied migrations are not repeated.
            return retry_deadlocks(partial(super().execute, *arguments, **options), tries=30)

    def handle(self, *arguments: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if not any(options.get(name) for name in PARTIAL) and not connection.introspection.table_names():
            number = create_tables(connection)
            if options["verbosity"] >= 1:
                self.stdout.write(f"Created the tables of {number} migrations.")
        super().handle(*arguments, **options)


def create_tables(connection: Any) -> int:
    """Create all tables of an empty database in one transaction. Return the number of replaced migrations.

    Separate migrations take 6 times as long. This function creates each model in its newest state, and then runs the
    other operations: triggers, groups, and initial rows.
    """
    executor: Any = MigrationExecutor(connection)  # the type stubs of `record_migration` are wrong
    migrations = [migration for migration, _backwards in executor.migration_plan(executor.loader.graph.leaf_nodes())]
    state = executor.loader.project_state()
    with connection.schema_editor() as editor:
        for model in state.apps.get_models():
            if model._meta.can_migrate(connection) and router.allow_migrate_model(connection.alias, model):
                editor.create_model(model)
        for migration in migrations:
            for operation in migration.operations:
                if not isinstance(operation, SCHEMA_OPERATIONS):
                    operation.database_forwards(migration.app_label, editor, state, state)
        editor.create_model(executor.recorder.Migration)
        for migration in migrations:
            executor.record_migration(migration)
    return len(migrations)
