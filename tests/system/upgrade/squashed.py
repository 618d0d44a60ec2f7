"""Migrate an empty database up to each squashed migration, by it or by those it replaces:
`python -m tests.system.upgrade.squashed --squashed|--replaced`, in the environment of the database.
"""

import sys

import django


def main(*, replaced: bool) -> None:
    """Migrate; raises RuntimeError when there is no squashed migration."""
    django.setup()
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    squashed, nodes = executor.loader.replacements, executor.loader.graph.node_map
    if not squashed:
        raise RuntimeError("No migration replaces others.")
    targets = set(squashed)
    if replaced:
        before = {parent.key for key in squashed for parent in nodes[key].parents}
        targets = before - targets | {migration.replaces[-1] for migration in squashed.values()}
    executor.loader.replace_migrations = not replaced
    executor.loader.build_graph()
    executor.migrate(sorted(targets))


if __name__ == "__main__":
    main(replaced="--replaced" in sys.argv)
