"""Sizes of rows in bytes, measured in the database, and how many rows fit into one response."""

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

from django.db.models import BigIntegerField, F, Func, Model, TextField, Value
from django.db.models.functions import Coalesce

ANSWER_MAX_BYTES = 8 * 1_048_576
ROWS_MAX_BYTES = ANSWER_MAX_BYTES - 4_096  # without the envelope around the rows
_ROW_BYTES = 512  # a row's names and short columns, about


class ByteLength(Func):
    """How many bytes a text has in UTF-8. A long one is not read for it."""

    function = "OCTET_LENGTH"
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **context)


def weight_of(model: type[Model], columns: Iterable[str]) -> Any:
    """Return the expression of how many bytes a row with these columns has, about; the long ones are measured."""
    names = [field.attname for field in model._meta.concrete_fields if isinstance(field, TextField)]
    lengths = [Coalesce(ByteLength(F(name)), 0) for name in names if name in columns]
    return reduce(add, lengths, Value(_ROW_BYTES, output_field=BigIntegerField()))


def number_that_fits(sizes: Iterable[int]) -> int:
    """Return how many rows of these sizes, in their order, an answer has room for: one at least."""
    room, number = ROWS_MAX_BYTES, 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        number += 1
    return max(1, number)
