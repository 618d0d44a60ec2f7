"""Row sizes in bytes, which the database measures, and the number of rows that fit into a response."""

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

from django.db.models import BigIntegerField, F, Func, Model, TextField, Value
from django.db.models.functions import Coalesce

ANSWER_MAX_BYTES = 8 * 1_048_576
ROWS_MAX_BYTES = ANSWER_MAX_BYTES - 4_096  # the rest is for the fields around the rows
_ROW_BYTES = 512  # estimated size of a row's field names and short columns


class ByteLength(Func):
    """The number of UTF-8 bytes of a text, which the database computes."""

    function = "OCTET_LENGTH"
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **context)


def weight_of(model: type[Model], columns: Iterable[str]) -> Any:
    """Return an SQL expression for a row's approximate size in bytes, from the text columns in `columns`."""
    names = [field.attname for field in model._meta.concrete_fields if isinstance(field, TextField)]
    lengths = [Coalesce(ByteLength(F(name)), 0) for name in names if name in columns]
    return reduce(add, lengths, Value(_ROW_BYTES, output_field=BigIntegerField()))


def number_that_fits(sizes: Iterable[int]) -> int:
    """Return how many rows fit into a response, at least 1. `sizes` are the sizes of the rows in order."""
    room, number = ROWS_MAX_BYTES, 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        number += 1
    return max(1, number)
