"""Statements that the ORM writes once, for the few reads and writes that run all day.

For a query of constant shape most of the ORM's time goes into writing the same SQL again. Here a queryset is built once
with slots in place of its arguments, compiled by Django for the database at hand, and from then on only executed. The
ORM stays the only source of SQL; nothing here knows a table. Everywhere else the ORM is used plainly.

On PostgreSQL the driver's own cursor executes them: it sends arguments beside the SQL and has the server prepare what
comes often, where Django's cursor writes every argument into the text. Elsewhere, and while somebody watches the
statements (a test that counts them, an execute wrapper), Django's cursor does the work.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
# Stand for `limit` and `offset` while Django writes the statement: it puts both into the SQL as digits.
_LIMIT_DIGITS, _OFFSET_DIGITS = 730_001_173, 730_002_173
# What Django's converters of these expect is the text that its own cursor gives them.
_READ_AS_TEXT = (models.JSONField, models.GenericIPAddressField)


def fetch(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any], *, binary: bool = True) -> list[Row]:
    """Execute a statement that returns rows; return them.

    `binary` is to be False where a column is of a kind that Django reads from text only.
    """
    if _is_watched(connection):
        with connection.cursor() as watched:
            watched.execute(sql, parameters)
            return cast("list[Row]", watched.fetchall())
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        try:
            cursor.execute(cast("Any", sql), parameters, binary=binary)
        except psycopg.errors.FeatureNotSupported:
            # A migration has changed a column's type under a prepared statement. A rollback forgets what is prepared;
            # without a transaction to roll back, the statement can be sent as if for the first time.
            if connection.in_atomic_block:
                raise
            cursor.execute(cast("Any", sql), parameters, binary=binary, prepare=False)
        return cursor.fetchall()


def change(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> int:
    """Execute a statement that writes; return how many rows it wrote."""
    if _is_watched(connection):
        with connection.cursor() as watched:
            watched.execute(sql, parameters)
            return int(watched.rowcount)
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(cast("Any", sql), parameters)
        return cursor.rowcount


def _is_watched(connection: BaseDatabaseWrapper) -> bool:
    """Say whether Django's cursor is needed; else the connection is open and its transaction is sound."""
    if connection.vendor != "postgresql" or connection.queries_logged or connection.execute_wrappers:
        return True
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    return False


class _Slot(Value):
    """The place of an argument in a queryset's filter."""

    def __init__(self, name: str) -> None:
        super().__init__(None)
        self.name = name

    def resolve_expression(self, *_args: Any, **_options: Any) -> "_Slot":
        """Stay what it is: a slot refers to no column."""
        return self

    def as_sql(self, *_args: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """Leave itself among the parameters, to be found there."""
        return "%s", [self]


@dataclass(frozen=True, slots=True)
class _Statement:
    """SQL for one database; `parameters` are slots' names or constants, `converters` make values of columns."""

    sql: str
    parameters: tuple[tuple[str | None, Any], ...]
    converters: tuple[tuple[int, tuple[Callable[..., Any], ...], Any], ...]
    binary: bool


def _adapt(value: Any, connection: BaseDatabaseWrapper) -> Any:
    """Return an argument in the form in which the database's driver takes it."""
    if isinstance(value, UUID):
        return value if connection.features.has_native_uuid_field else value.hex
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _fragment(value: Any, _expression: Any, _connection: Any) -> Any:
    """Hand a stored document through to the answer as text, unparsed."""
    return value if value is None else orjson.Fragment(value)


class PreparedSelect:
    """A SELECT of constant shape.

    `build` takes named arguments and returns a queryset. It is called once per database, so an argument may be used as
    a filter value only, `limit` and `offset` as the bounds of a slice only. Documents come as fragments, ready for
    `render_json`, unless `parsed` asks for them as Python values.
    """

    def __init__(
        self,
        build: Callable[..., QuerySet[Any]],
        columns: Sequence[str],
        *,
        arguments: Sequence[str] = (),
        parsed: bool = False,
    ) -> None:
        """Keep the recipe; nothing is compiled until the first use.

        `arguments` names the arguments of a `build` whose signature does not.
        """
        self._build = build
        self._columns = tuple(columns)
        self._parsed = parsed
        self._arguments = tuple(arguments) or tuple(inspect.signature(build).parameters)
        self._statements: dict[str, _Statement] = {}
        self._model: type[models.Model] | None = None

    def first(self, **arguments: Any) -> Row | None:
        """Return the first row, or None."""
        rows = self.rows(**arguments)
        return rows[0] if rows else None

    def rows(self, **arguments: Any) -> list[Row]:
        """Execute with these arguments; return tuples in the order of the columns asked for."""
        return self.rows_with_alias(**arguments)[0]

    def rows_with_alias(self, **arguments: Any) -> tuple[list[Row], str]:
        """Execute as `rows` does; return the rows and the alias of the database that gave them."""
        if self._model is None:
            self._model = self._queryset().model
        alias = router.db_for_read(self._model)
        connection = connections[alias]
        statement = self._statements.get(alias)
        if statement is None:
            statement = self._statements[alias] = self._compile(connection)
        parameters = [
            constant if name is None else _adapt(arguments[name], connection) for name, constant in statement.parameters
        ]
        rows = fetch(connection, statement.sql, parameters, binary=statement.binary)
        if statement.converters:
            rows = [_convert(row, statement.converters, connection) for row in rows]
        return rows, alias

    def _queryset(self) -> QuerySet[Any]:
        """Build the queryset with a slot for each argument."""
        digits = {"limit": _LIMIT_DIGITS, "offset": _OFFSET_DIGITS}
        return self._build(**{name: digits.get(name) or _Slot(name) for name in self._arguments})

    def _compile(self, connection: BaseDatabaseWrapper) -> _Statement:
        """Let Django write the SQL for this database, and find the slots in it."""
        query = self._queryset().using(connection.alias).values_list(*self._columns).query
        compiler = query.get_compiler(using=connection.alias)
        sql, raw = compiler.as_sql()
        parameters = [(value.name, None) if isinstance(value, _Slot) else (None, value) for value in raw]
        for name, digits in (("limit", _LIMIT_DIGITS), ("offset", _OFFSET_DIGITS)):
            before, found, after = sql.partition(str(digits))
            if found:
                parameters.insert(before.count("%s"), (name, None))
                sql = f"{before}%s{after}"
        converters = []
        columns = [selected for selected, *_ in compiler.select]
        for position, (functions, expression) in compiler.get_converters(columns).items():
            spliced = isinstance(expression.output_field, JsonTextField) and not self._parsed
            converters.append((position, (_fragment,) if spliced else tuple(functions), expression))
        binary = not any(isinstance(column.output_field, _READ_AS_TEXT) for column in columns)
        return _Statement(sql, tuple(parameters), tuple(converters), binary)


def _convert(row: Row, converters: tuple[Any, ...], connection: BaseDatabaseWrapper) -> Row:
    """Turn one row's columns into Python values."""
    values = list(row)
    for position, functions, expression in converters:
        for function in functions:
            values[position] = function(values[position], expression, connection)
    return tuple(values)


class PreparedGet(Generic[Record]):
    """The one record of a model that a queryset of constant shape finds, as an instance."""

    def __init__(self, model: type[Record], build: Callable[..., QuerySet[Record]]) -> None:
        """Keep the recipe."""
        self._model = model
        self._build = build
        self._select: PreparedSelect | None = None
        self._names: tuple[str, ...] = ()

    def __call__(self, **arguments: Any) -> Record | None:
        """Return the record, or None."""
        if self._select is None:
            self._names = tuple(field.attname for field in self._model._meta.concrete_fields)
            self._select = PreparedSelect(self._build, self._names, parsed=True)
        rows, alias = self._select.rows_with_alias(**arguments)
        return self._model.from_db(alias, self._names, rows[0]) if rows else None


class PreparedUpdate:
    """An UPDATE of constant shape: it sets `columns` in the rows whose `conditions` (fields, by equality) hold."""

    def __init__(self, model: type[models.Model], *, conditions: Sequence[str], columns: Sequence[str]) -> None:
        """Keep the recipe; nothing is compiled until the first use."""
        self._model = model
        self._conditions = tuple(conditions)
        self._fields: dict[str, models.Field[Any, Any]] = {
            name: cast("models.Field[Any, Any]", model._meta.get_field(name)) for name in columns
        }
        self._statements: dict[str, tuple[str, tuple[tuple[bool, str, Any], ...]]] = {}

    def __call__(self, *, where: Mapping[str, Any], values: Mapping[str, Any]) -> int:
        """Update the rows that `where` describes; return how many. Signals are not sent."""
        alias = router.db_for_write(self._model)
        connection = connections[alias]
        compiled = self._statements.get(alias)
        if compiled is None:
            compiled = self._statements[alias] = self._compile(alias)
        sql, slots = compiled
        parameters = []
        for is_value, name, constant in slots:
            if is_value:
                parameters.append(self._fields[name].get_db_prep_save(values[name], connection))
            else:
                parameters.append(_adapt(where[name], connection) if name else constant)
        return change(connection, sql, parameters)

    def _compile(self, alias: str) -> tuple[str, tuple[tuple[bool, str, Any], ...]]:
        """Let Django write the SQL; tell the slots of values from those of conditions."""
        conditions = {name: _Slot(name) for name in self._conditions}
        rows = self._model._default_manager.using(alias).filter(**conditions)
        query = cast("UpdateQuery", rows.query.chain(UpdateQuery))
        query.add_update_values({name: _Slot(name) for name in self._fields})
        sql, raw = query.get_compiler(using=alias).as_sql()
        found, slots = set(map(id, conditions.values())), []
        for value in raw:
            is_slot = isinstance(value, _Slot)
            slots.append((is_slot and id(value) not in found, value.name if is_slot else "", value))
        return sql, tuple(slots)


class PreparedInsert:
    """An INSERT of one row of `model` that names every column; `save()` without its questions."""

    def __init__(self, model: type[models.Model]) -> None:
        """Keep the model; nothing is compiled until the first use."""
        self._model = model
        self._statements: dict[str, str] = {}
        self._fields: tuple[models.Field[Any, Any], ...] = ()

    def record(self, record: models.Model) -> None:
        """Insert a record that was made in memory."""
        self(**{field.attname: getattr(record, field.attname) for field in self._model._meta.concrete_fields})
        record._state.adding = False
        record._state.db = router.db_for_write(self._model)

    def __call__(self, **values: Any) -> None:
        """Insert one row; each field without a value gets its default. Signals are not sent."""
        alias = router.db_for_write(self._model)
        connection = connections[alias]
        if not self._fields:
            # What the database numbers by itself is left out.
            self._fields = tuple(
                field for field in self._model._meta.concrete_fields if not isinstance(field, models.AutoField)
            )
        sql = self._statements.get(alias)
        if sql is None:
            quote = connection.ops.quote_name
            columns = ", ".join(quote(str(field.column)) for field in self._fields)
            marks = ", ".join(["%s"] * len(self._fields))
            sql = f"INSERT INTO {quote(self._model._meta.db_table)} ({columns}) VALUES ({marks})"  # noqa: S608  names of ours
            self._statements[alias] = sql
        parameters = [
            field.get_db_prep_save(
                values[field.attname] if field.attname in values else field.get_default(), connection
            )
            for field in self._fields
        ]
        change(connection, sql, parameters)
