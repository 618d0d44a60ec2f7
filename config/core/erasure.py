"""Erasure of an account's rows according to the register of personal data.

An interrupted erasure can resume, because it skips erased rows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

from django.db import models

from config.core.json_text import JsonTextField
from config.core.privacy import DELETE_ROW, NULL, Keep, Table, Treatment, all_rows, tables_of
from config.core.registration import declared

CHUNK_ROWS = 200
ERASED = "erased-"
_BLANK_JSON: tuple[Any, ...] = ({}, [], "", 0, False)
_NUMBERS = (models.IntegerField, models.DecimalField, models.FloatField)

# Maps a record's key to the end of its retention. The key None means the whole account. The value None means that the
# end is unknown.
Ends = dict[Any, datetime | None]


class Kept(NamedTuple):
    """The rows that a ground (`config.core.privacy.Keep`) retains.

    The first retention ends at `next_end`, and the last at `until` (None if unknown).
    """

    ground: str
    rows: int
    until: datetime | None
    next_end: datetime | None
    is_permanent: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "ground": self.ground,
            "rows": self.rows,
            "until": None if self.until is None else self.until.date().isoformat(),
        }


def erase_rows(user_id: int, *, now: datetime) -> list[Kept]:
    """Erase the personal fields of an account. Return the rows that a ground retains, by ground."""
    parts = list(_parts(user_id, now=now))
    for part in parts:
        _erase(part.rest, part.fields)
    return _summarize(parts)


def kept_rows(user_id: int, *, now: datetime) -> list[Kept]:
    """Return the rows that an erasure at `now` would retain, by ground."""
    return _summarize(_parts(user_id, now=now))


class _Part(NamedTuple):
    """The rows of a table that a ground retains (`kept`), its other rows (`rest`), and the fields of the ground."""

    keep: Keep | None
    fields: dict[str, Treatment]
    ends: Ends
    kept: Any
    rest: Any


def _parts(user_id: int, *, now: datetime) -> Iterator[_Part]:
    grounds = _grounds(user_id, now=now)
    for _label, declaration, every in tables_of(user_id):
        for keep, fields in _by_ground(declaration).items():
            if keep is None or keep.is_permanent:
                kept, rest = (every.none(), every) if keep is None else (every, every.none())
                yield _Part(keep, fields, {}, kept, rest)
            else:
                ends = grounds[keep.ground]
                kept, rest = _split(every, declaration, ends)
                yield _Part(keep, fields, ends, _unerased(kept, fields), rest)


def _summarize(parts: Iterable[_Part]) -> list[Kept]:
    rows: dict[Keep, int] = defaultdict(int)
    days: dict[str, list[datetime | None]] = defaultdict(list)
    for part in parts:
        if part.keep is not None and (number := part.kept.count()):
            rows[part.keep] += number
            days[part.keep.ground] += part.ends.values()
    return [
        Kept(keep.ground, number, _known(max, days[keep.ground]), _known(min, days[keep.ground]), keep.is_permanent)
        for keep, number in sorted(rows.items(), key=lambda counted: counted[0].ground)
    ]


def unkept_rows(user_id: int, *, now: datetime) -> Iterator[tuple[str, Any]]:
    """Yield the label and the rows of each table of an account, without rows that a ground retains temporarily."""
    grounds = _grounds(user_id, now=now)
    for label, declaration, rows in tables_of(user_id):
        unkept = rows
        for keep in _by_ground(declaration):
            if keep is not None and not keep.is_permanent:
                unkept = _split(unkept, declaration, grounds[keep.ground])[1]
        yield label, unkept


def _grounds(user_id: int, *, now: datetime) -> dict[str, Ends]:
    return {name: ends(user_id, now=now) for name, ends in declared("erasure_grounds")}


def _by_ground(declaration: Table) -> dict[Any, dict[str, Treatment]]:
    fields: dict[Any, dict[str, Treatment]] = defaultdict(dict)
    for name, treatment in declaration.fields.items():
        if treatment.kind == "personal":
            fields[treatment.keep][name] = treatment
    return fields


def _split(every: Any, declaration: Table, ends: Ends) -> tuple[Any, Any]:
    if not ends:
        return every.none(), every
    if None in ends:
        return every, every.none()
    is_kept = models.Q(**{f"{declaration.kept_by}__in": list(ends)})
    return every.filter(is_kept), every.exclude(is_kept)


def _known(choose: Callable[[list[datetime]], datetime], days: list[datetime | None]) -> datetime | None:
    """Return `choose(days)`, or None if a day is unknown."""
    known = [day for day in days if day is not None]
    return choose(known) if known and len(known) == len(days) else None


def _erase(rows: Any, fields: dict[str, Treatment]) -> None:
    if any(treatment.erase == DELETE_ROW for treatment in fields.values()):
        while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:CHUNK_ROWS]):
            all_rows(rows.model).filter(pk__in=keys).delete()
        return
    for row in _unerased(rows, fields).iterator(chunk_size=CHUNK_ROWS):
        for name, treatment in fields.items():
            setattr(row, name, blank(row, name, treatment.erase))
        row.save(update_fields=list(fields))


def _unerased(rows: Any, fields: dict[str, Treatment]) -> Any:
    """Exclude rows that are already erased (all fields blank). An append-only row can be erased only once."""
    filled = models.Q()
    for name, treatment in fields.items():
        field = rows.model._meta.get_field(name)
        is_blank = models.Q(**{f"{name}__isnull": True})
        if treatment.erase == NULL:
            pass
        elif hasattr(field, "is_bound") or name in _unique_columns(rows.model):
            return rows  # a query can't detect that an encrypted or random value is blank
        elif isinstance(field, JsonTextField | models.JSONField):
            is_blank |= models.Q(**{f"{name}__in": _BLANK_JSON})
        else:
            is_blank |= models.Q(**{name: 0 if isinstance(field, _NUMBERS) else ""})
        filled |= ~is_blank
    return rows.filter(filled)


def blank(row: models.Model, name: str, erase: str) -> Any:
    """Return the value that replaces an erased value: null, an empty value, or a random value for a unique column."""
    field: Any = row._meta.get_field(name)
    if erase == NULL:
        return None
    if name in _unique_columns(type(row)):
        return f"{ERASED}{uuid4().hex}"[: field.max_length]
    if isinstance(field, JsonTextField | models.JSONField):
        return type(getattr(row, name))()
    if isinstance(field, _NUMBERS):
        return 0
    return ""


def _unique_columns(model: Any) -> set[str]:
    named: Iterator[str] = (
        name
        for constraint in model._meta.constraints
        if isinstance(constraint, models.UniqueConstraint)
        for name in constraint.fields
    )
    return {*named, *(field.name for field in model._meta.local_fields if field.unique)}
