"""Hash each column of a database, and compare two such snapshots to find the effects of a migration."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

# Django adds rows to these tables for new models. Existing rows do not change.
GROWING = {"django_migrations", "django_content_type", "auth_permission", "auth_group_permissions"}


@dataclass
class Table:
    """A table's number of rows, the hashes of its columns, and its data file in PostgreSQL."""

    rows: int
    columns: dict[str, str]
    required: set[str] = field(default_factory=set)  # columns with NOT NULL and without a default
    file: int = 0  # this number changes when PostgreSQL rewrites all rows


Snapshot = dict[str, Table]


def take_snapshot(connection: Any, known: Snapshot | None = None) -> Snapshot:
    """Hash every table. In a growing table, hash only the rows of the earlier snapshot `known`."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            return _of_postgresql(cursor, known or {})
        return _of_sqlite(cursor, known or {})


_COLUMNS = """
SELECT c.relname, c.relfilenode, a.attname, a.attnotnull AND NOT a.atthasdef AND a.attidentity = '',
       coalesce(k.keys, '{}')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN LATERAL (
    SELECT array_agg(attname::text ORDER BY attnum) AS keys FROM pg_index i
    JOIN pg_attribute p ON p.attrelid = i.indrelid AND p.attnum = ANY (i.indkey)
    WHERE i.indrelid = c.oid AND i.indisprimary
) k ON true
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY c.relname, a.attnum
"""


def _of_postgresql(cursor: Any, known: Snapshot) -> Snapshot:
    cursor.execute(_COLUMNS)
    described: dict[str, list[tuple[Any, ...]]] = {}
    for table, *column in cursor.fetchall():
        described.setdefault(table, []).append(tuple(column))
    result = {}
    for table, columns in described.items():
        keys, names = columns[0][3], [name for _file, name, _required, _keys in columns]
        key = " || '.' || ".join(f'"{item}"::text' for item in keys) or "''"
        sums = ", ".join(
            f"coalesce(sum(hashtextextended({key} || ' ' || coalesce(\"{name}\"::text, chr(1)), 0)::numeric), 0)::text"
            for name in names
        )
        rows = f'(SELECT * FROM "{table}" {_first(table, keys, known)}) AS rows'
        cursor.execute(f"SELECT count(*), {sums} FROM {rows}")
        count, *hashes = cursor.fetchone()
        required = {name for _file, name, is_required, _keys in columns if is_required}
        result[table] = Table(count, dict(zip(names, hashes, strict=True)), required, columns[0][0])
    return result


def _of_sqlite(cursor: Any, known: Snapshot) -> Snapshot:
    cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%%'")
    result = {}
    for (table,) in cursor.fetchall():
        cursor.execute(f"SELECT name, \"notnull\", dflt_value, pk FROM pragma_table_info('{table}')")
        columns = cursor.fetchall()
        keys, names = [name for name, *_rest, pk in columns if pk], [name for name, *_rest in columns]
        required = {name for name, not_null, default, pk in columns if not_null and default is None and not pk}
        wanted = ", ".join(f'"{name}"' for name in names)
        cursor.execute(f'SELECT {wanted} FROM "{table}" {_first(table, keys, known)}')
        sums, rows = dict.fromkeys(names, 0), cursor.fetchall()
        for row in rows:
            values = dict(zip(names, row, strict=True))
            key = [values[name] for name in keys]
            for name, value in values.items():
                digest = hashlib.blake2b(repr((key, value)).encode(), digest_size=8).digest()
                sums[name] = (sums[name] + int.from_bytes(digest)) % 2**64
        result[table] = Table(len(rows), {name: str(item) for name, item in sums.items()}, required)
    return result


def _first(table: str, keys: list[str], known: Snapshot) -> str:
    """Return the SQL clause that selects the earlier rows of a growing table; empty for other tables."""
    if table not in GROWING or table not in known:
        return ""
    return f'ORDER BY "{keys[0]}" LIMIT {known[table].rows}'


def compare(before: Snapshot, after: Snapshot, declared: set[str], *, serves_before: bool) -> list[str]:
    """Return a sentence for each change that is not in `declared`, as `table` or `table.column`.

    With `serves_before`, also report changes that break the program of the previous version. It reads the old columns,
    and writes no new column.
    """
    faults = []
    for name, table in before.items():
        now = after.get(name)
        if now is None:
            faults += (
                [f"{name} is missing, and the previous version reads it"]
                if serves_before or name not in declared
                else []
            )
            continue
        if now.rows != table.rows and name not in declared:
            faults.append(f"{name} has {now.rows} rows instead of {table.rows}, and no migration declares the change")
        if now.file != table.file:
            faults.append(f"{name} was rewritten, which locked the table")
        faults += _columns(name, table, now, declared, serves_before=serves_before)
    return faults


def _columns(name: str, before: Table, now: Table, declared: set[str], *, serves_before: bool) -> list[str]:
    faults = []
    for column, content in before.columns.items():
        own = f"{name}.{column}"
        if column not in now.columns:
            if serves_before or own not in declared:
                faults.append(f"{own} is missing, and the previous version reads it")
        elif now.columns[column] != content and own not in declared and name not in declared:
            faults.append(f"{own} has other values, and no migration declares the change")
    if serves_before:
        unfilled = now.required - before.required
        faults += [
            f"{name}.{column} has no default, and the previous version does not write it" for column in sorted(unfilled)
        ]
    return faults
