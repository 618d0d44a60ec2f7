"""The rows before and after one in a filtered list: for going through a queue without going back to it."""

from typing import Any

from django.db.models import Q, QuerySet


def neighbours_of(record: Any, rows: QuerySet[Any], ordering: list[Any]) -> tuple[Any, Any]:
    """Return the primary keys of the rows before and after `record` in `rows`, None where there is none.

    `ordering` is a list of column names, a leading minus turning one round; it must end in a unique column. `record`
    itself need not be among the rows any more: what was just decided has a place from which to go on.
    """
    names = [str(name) for name in ordering if isinstance(name, str)]
    if len(names) != len(ordering) or any(_value(record, name) is None for name in names):
        return None, None
    plain = rows.order_by(*names).values_list("pk", flat=True)
    turned = rows.order_by(*[_turn(name) for name in names]).values_list("pk", flat=True)
    following = plain.filter(_beyond(record, names)).first()
    return turned.filter(_beyond(record, [_turn(name) for name in names])).first(), following


def _turn(name: str) -> str:
    """Return the opposite order."""
    return name[1:] if name.startswith("-") else f"-{name}"


def _value(record: Any, name: str) -> Any:
    """Return the record's value of an ordering's column."""
    plain = name.lstrip("-")
    return record.pk if plain == "pk" else getattr(record, plain, None)


def _beyond(record: Any, names: list[str]) -> Q:
    """Return the condition for rows that come after `record`: greater in one column, equal in those before it."""
    condition, equal = Q(), Q()
    for name in names:
        plain = name.lstrip("-")
        side = "lt" if name.startswith("-") else "gt"
        condition |= equal & Q(**{f"{plain}__{side}": _value(record, name)})
        equal &= Q(**{plain: _value(record, name)})
    return condition
