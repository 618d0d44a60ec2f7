"""Migrate a database of an earlier version, and report every problem: `python -m tests.system.upgrade.judge`.

The script requires the environment of the database. It prints the changes that no migration declares as a line of
JSON. With `--lint`, the line also contains the findings of the linter that `make lint` runs. A migration declares the
tables and columns that its operations alter or delete. If it changes values or rows, its `changes` list declares the
"table.column" or the "table".
"""

import argparse
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import django


def main() -> None:
    """Migrate and check every database of the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--serves-before", action="store_true", help="Also report changes that break the previous version."
    )
    parser.add_argument("--lint", action="store_true", help="Also report the findings of the migration linter.")
    parser.add_argument(
        "--evidence", type=Path, metavar="FOLDER", help="Verify the ledger, and the decision and the proof in FOLDER."
    )
    arguments = parser.parse_args()
    django.setup()
    from django.core.management import call_command
    from django.db import connections
    from django.db.migrations.executor import MigrationExecutor

    from tests.system.upgrade.snapshots import compare, take_snapshot

    fields: dict[str, Any] = {
        "migrations": [],
        "linter": lint() if arguments.lint else [],
        "changes": [],
        "verified": [],
    }
    for alias in connections:
        connection = connections[alias]
        executor = MigrationExecutor(connection)
        plan = [item for item, _backwards in executor.migration_plan(executor.loader.graph.leaf_nodes())]
        declared = {name for migration in plan for name in declared_by(migration, executor.loader)}
        before = take_snapshot(connection)
        call_command("migrate", database=alias, verbosity=0)
        fields["migrations"] += [f"{item.app_label}.{item.name}" for item in plan]
        fields["changes"] += compare(
            before, take_snapshot(connection, before), declared, serves_before=arguments.serves_before
        )
    if arguments.evidence:
        fields["verified"] = verify(arguments.evidence)
    print(json.dumps(fields))


def verify(folder: Path) -> list[str]:
    """Verify the evidence in a folder; return the verified items. Raises CommandError for a failure."""
    from django.core.management import call_command

    key = (folder / "ledger.vkey").read_text()
    call_command("verify_ledger")
    for name, *keys in (
        ("decision.json", "--platform-key", f"{folder}/record-keys.json"),
        ("report.tlog-proof", "--report", f"{folder}/report"),
    ):
        call_command("verify", f"{folder}/{name}", "--ledger-key", key, *keys)
    return ["verify_ledger", "decision.json", "report.tlog-proof"]


def lint() -> list[str]:
    """Return the findings of django-migration-linter with the options of pyproject.toml, as in `make lint`."""
    from django.core.management import call_command

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            call_command("lintmigrations")
        except SystemExit:
            return [line.strip() for line in output.getvalue().splitlines() if line.startswith("\t")]
    return []


def declared_by(migration: Any, loader: Any) -> set[str]:
    """Return the tables and columns that a migration declares as changed."""
    rows = set(getattr(migration, "changes", ()))
    state = loader.project_state((migration.app_label, migration.name), at_end=False)
    for operation in migration.operations:
        models, kind = state.apps, type(operation).__name__
        if kind in {"DeleteModel", "RenameModel"}:
            name = getattr(operation, "old_name", None) or operation.name
            rows.add(models.get_model(migration.app_label, name)._meta.db_table)
        if kind in {"RemoveField", "AlterField", "RenameField"}:
            model = models.get_model(migration.app_label, operation.model_name)
            name = getattr(operation, "old_name", None) or operation.name
            if kind == "AlterField" and _stored(model._meta.get_field(name)) == _stored(operation.field):
                operation.state_forwards(migration.app_label, state)
                continue  # a changed help text or label changes no value
            rows.add(f"{model._meta.db_table}.{model._meta.get_field(name).column}")
        operation.state_forwards(migration.app_label, state)
    return rows


def _stored(field: Any) -> tuple[Any, ...]:
    """Return the definition of a field in a migration, without help text and label."""
    _, path, arguments, options = field.deconstruct()
    return (
        path,
        arguments,
        {name: value for name, value in options.items() if name not in {"help_text", "verbose_name"}},
    )


if __name__ == "__main__":
    main()
