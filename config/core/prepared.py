"""Statements that the ORM compiles once, for the most frequent reads and writes.

The ORM spends most of its time on generating SQL. This module builds a queryset with slots for its arguments, compiles
the SQL once per database, and reuses the SQL.

On PostgreSQL, the driver's own cursor sends arguments separately, so that the server can prepare statements. Other
databases use Django's cursor. Statements that a test or an execute wrapper records also use Django's cursor.
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

import orjson
import psycopg
from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet, Value
from django.db.models.sql import UpdateQuery

from config.core.json_text import JsonTextField

Row = tuple[Any, ...]
Record = TypeVar("Record", bound=models.Model)
# Django writes `limit` and `offset` as digits. The compiler finds their positions by these unusual numbers.
_DIGITS = {"limit": 730_001_173, "offset": 730_002_173}
# Django's converters for these fields expect text.
_READ_AS_TEXT = (models.JSONField, models.GenericIPAddressField)


def execute(
    connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any], *, binary: bool = True
) -> tuple[list[Row], int]:
    """Execute a statement. Return the statement's rows, and the number of returned or changed rows.

    `binary` must be False if a column's type is in `_READ_AS_TEXT`.
    """
    if connection.vendor != "postgresql" or connection.queries_logged or connection.execute_wrappers:
        with connection.cursor() as watched:
            watched.execute(sql, [_adapt(value, connection) for value in parameters])
            return watched.fetchall() if watched.description else [], watched.rowcount
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        try:
            cursor.execute(cast("Any", sql), parameters, binary=binary)
        except psycopg.errors.FeatureNotSupported:
            # A migration changed a column's type after the statement was prepared. A transaction can't retry, and its
            # rollback discards the prepared statements.
            if connection.in_atomic_block:
                raise
            cursor.execute(cast("Any", sql), parameters, binary=binary, prepare=False)
        # `rownumber` is None without a result set, and reading it is faster than reading `description`.
        return cursor.fetchall() if cursor.rownumber is not None else [], cursor.rowcount


def _adapt(value: Any, connection: BaseDatabaseWrapper) -> Any:
    if isinstance(value, UUID):
        return value if connection.features.has_native_uuid_field else value.hex
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


class _Slot(Value):
    def __init__(self, name: str) -> None:
        super().__init__(None)
        self.name = name

    def resolve_expression(self, *_args: Any, **_options: Any) -> "_Slot":
        return self  # this expression has no columns to resolve

    def as_sql(self, *_args: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return "%s", [self]  # `_compile` finds the slot among the parameters


@dataclass(frozen=True, slots=True)
class _Statement:
    """SQL for one database. `parameters` contains slot names and constants. `converters` convert columns to values."""

    sql: str
    parameters: tuple[tuple[str | None, Any], ...]
    converters: tuple[tuple[int, tuple[Callable[..., Any], ...], Any], ...]
    encrypted: tuple[tuple[int, Any, int], ...]  # position of a column, its field, position of the primary key
    binary: bool


def _fragment(value: Any, _expression: Any, _connection: Any) -> Any:
    """Convert a stored JSON document to a fragment of the response without parsing."""
    return value if value is None else orjson.Fragment(value)


class PreparedSelect:
    """A SELECT that is compiled at its first use.

    `build` accepts named arguments, and returns a queryset. Without `arguments`, the signature of `build` defines the
    names of the arguments. `build` is called only once, so it may use arguments only as filter values, and `limit` and
    `offset` only as bounds of a slice. JSON documents are returned as fragments for `render_json`, or with `parsed` as
    Python values. If `columns` contains an encrypted column, `columns` must also contain the primary key.
    """

    def __init__(
        self,
        build: Callable[..., QuerySet[Any]],
        columns: Sequence[str],
        *,
        arguments: Sequence[str] = (),
        parsed: bool = False,
        opened: bool = True,
    ) -> None:
        self._build = build
        self._columns = columns
        self._parsed = parsed
        self._opened = opened
        self._arguments = tuple(arguments) or tuple(inspect.signature(build).parameters)
        self._statements: dict[str, _Statement] = {}

    def first(self, **arguments: Any) -> Row | None:
        rows = self.rows(**arguments)
        return rows[0] if rows else None

    def rows(self, **arguments: Any) -> list[Row]:
        """Execute the statement with these arguments. Return tuples in the order of the requested columns."""
        connection = connections[router.db_for_read(self._queryset.model)]
        statement = self._statements.get(connection.alias)
        if statement is None:
            statement = self._statements[connection.alias] = self._compile(connection)
        parameters = [constant if name is None else arguments[name] for name, constant in statement.parameters]
        rows, _ = execute(connection, statement.sql, parameters, binary=statement.binary)
        if not statement.converters:
            return rows
        converted = []
        for row in rows:
            values = list(row)
            for position, functions, expression in statement.converters:
                for function in functions:
                    values[position] = function(values[position], expression, connection)
            for position, field, at in statement.encrypted:
                values[position] = field.open(values[position], values[at])
            converted.append(tuple(values))
        return converted

    @cached_property
    def _queryset(self) -> QuerySet[Any]:
        slots = {name: _DIGITS.get(name) or _Slot(name) for name in self._arguments}
        return self._build(**slots).values_list(*self._columns)

    def _compile(self, connection: BaseDatabaseWrapper) -> _Statement:
        compiler = self._queryset.query.get_compiler(using=connection.alias)
        sql, raw = compiler.as_sql()
        parameters = [(value.name, None) if isinstance(value, _Slot) else (None, value) for value in raw]
        for name, digits in _DIGITS.items():
            before, digits_found, after = sql.partition(str(digits))
            if digits_found:
                parameters.insert(before.count("%s"), (name, None))
                sql = f"{before}%s{after}"
        converters, encrypted = [], []
        columns = [selected for selected, *_ in compiler.select]
        for position, (functions, expression) in compiler.get_converters(columns).items():
            spliced = isinstance(expression.output_field, JsonTextField) and not self._parsed
            converters.append((position, (_fragment,) if spliced else tuple(functions), expression))
            field = expression.output_field
            if self._opened and getattr(field, "is_bound", False):
                keys = [at for at, column in enumerate(columns) if column.output_field is field.model._meta.pk]
                encrypted.append((position, field, keys[0]))
        binary = not any(isinstance(column.output_field, _READ_AS_TEXT) for column in columns)
        return _Statement(sql, tuple(parameters), tuple(converters), tuple(encrypted), binary)


class PreparedGet(Generic[Record]):
    """A SELECT that returns the first model instance, or None.

    `annotations` lists the queryset's annotations that become attributes. `defer` lists the columns to omit.
    """

    def __init__(
        self,
        model: type[Record],
        build: Callable[..., QuerySet[Record]],
        annotations: Sequence[str] = (),
        *,
        defer: Collection[str] = (),
    ) -> None:
        self._model = model
        self._names = [field.attname for field in model._meta.concrete_fields if field.attname not in defer]
        self._annotations = annotations
        self._select = PreparedSelect(build, [*self._names, *annotations], parsed=True, opened=False)

    def __call__(self, **arguments: Any) -> Record | None:
        rows = self.all(**arguments)
        return rows[0] if rows else None

    def all(self, **arguments: Any) -> list[Record]:
        return [self._record(row) for row in self._select.rows(**arguments)]

    def _record(self, row: Row) -> Record:
        fields = len(self._names)
        record = self._model.from_db(router.db_for_read(self._model), self._names, row[:fields])
        for name, value in zip(self._annotations, row[fields:], strict=True):
            setattr(record, name, value)
        return record


def insert(record: models.Model) -> None:
    """Insert a new instance without the queries and signals of `save()`."""
    insert_all([record])


def insert_all(records: Sequence[models.Model]) -> None:
    """Insert new instances of a model in one statement, without signals. Accepts an empty sequence."""
    if not records:
        return
    model = type(records[0])
    alias = router.db_for_write(model)
    connection = connections[alias]
    sql, fields = _insertion(model, alias, len(records))
    values = [(field, field.pre_save(record, add=True)) for record in records for field in fields]
    parameters = [None if value is None else field.get_db_prep_save(value, connection) for field, value in values]
    execute(connection, sql, parameters)
    for record in records:
        record._state.adding = False
        record._state.db = alias


@cache
def _insertion(model: type[models.Model], alias: str, rows: int) -> tuple[str, list[Any]]:
    quote = connections[alias].ops.quote_name
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    values = ", ".join([f"({marks})"] * rows)
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES {values}", fields  # noqa: S608  contains only names from models


def update(model: type[models.Model], *, where: Mapping[str, Any], values: Mapping[str, Any]) -> int:
    """Set columns in the rows whose fields equal `where`, without signals. Return the number of rows.

    The value of a foreign key can be an instance.
    """
    alias = router.db_for_write(model)
    connection = connections[alias]
    sql, parts = _updating(model, alias, tuple(where), tuple(values))
    parameters = []
    for is_value, name, constant in parts:
        if is_value:
            field: Any = model._meta.get_field(name)
            value = values[name].pk if isinstance(values[name], models.Model) else values[name]
            parameters.append(field.get_db_prep_save(value, connection))
        else:
            parameters.append(where[name] if name else constant)
    return execute(connection, sql, parameters)[1]


@cache
def _updating(
    model: type[models.Model], alias: str, conditions: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[str, list[tuple[bool, str, Any]]]:
    """Generate an UPDATE with Django. Return the SQL, and `(is new value, slot name, constant)` for each parameter."""
    slots = {name: _Slot(name) for name in conditions}
    query = cast("UpdateQuery", model._default_manager.using(alias).filter(**slots).query.chain(UpdateQuery))
    query.add_update_values({name: _Slot(name) for name in columns})
    sql, raw = query.get_compiler(using=alias).as_sql()
    parts = []
    for value in raw:
        name = value.name if isinstance(value, _Slot) else ""
        parts.append((bool(name) and value is not slots.get(name), name, value))
    return sql, parts
