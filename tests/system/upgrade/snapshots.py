"""The content of a database as a hash per column: comparing two snapshots shows the effect of a migration."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

# Django adds rows for new models here; existing rows stay.
GROWING = {"django_migrations", "django_content_type", "auth_permission", "auth_group_permissions"}


@dataclass
class Table:
    """The hashes of a table's columns, its number of rows, and PostgreSQL's data about it."""

    rows: int
    columns: dict[str, str]
    required: set[str] = field(default_factory=set)  # NOT NULL without a default
    file: int = 0  # changes when PostgreSQL rewrites all rows


Snapshot = dict[str, Table]


def take_snapshot(connection: Any, known: Snapshot | None = None) -> Snapshot:
    """Hash every table; in a growing table, only the rows of an earlier snapshot."""
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
        keys, names = [name for name, *_told, pk in columns if pk], [name for name, *_told in columns]
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
    """Return the SQL that selects the earlier rows of a growing table."""
    if table not in GROWING or table not in known:
        return ""
    return f'ORDER BY "{keys[0]}" LIMIT {known[table].rows}'


def compare(before: Snapshot, after: Snapshot, named: set[str], *, serves_before: bool) -> list[str]:
    """Return a sentence for each change that no migration declares as `table` or `table.column`.

    With `serves_before`, also report changes that break the program of the earlier version: it reads the columns that
    it knows, and writes no other column.
    """
    faults = []
    for name, table in before.items():
        now = after.get(name)
        if now is None:
            faults += [f"{name} is gone, and the version before reads it"] if serves_before or name not in named else []
            continue
        if now.rows != table.rows and name not in named:
            faults.append(f"{name} has {now.rows} rows instead of {table.rows}, and no migration names it")
        if now.file != table.file:
            faults.append(f"{name} was written anew, row by row, while nobody could use it")
        faults += _columns(name, table, now, named, serves_before=serves_before)
    return faults


def _columns(name: str, before: Table, now: Table, named: set[str], *, serves_before: bool) -> list[str]:
    faults = []
    for column, content in before.columns.items():
        own = f"{name}.{column}"
        if column not in now.columns:
            if serves_before or own not in named:
                faults.append(f"{own} is gone, and the version before reads it")
        elif now.columns[column] != content and own not in named and name not in named:
            faults.append(f"{own} has other values, and no migration names it")
    if serves_before:
        unfilled = now.required - before.required
        faults += [
            f"{name}.{column} has no default, and the version before does not write it" for column in sorted(unfilled)
        ]
    return faults
