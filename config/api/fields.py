"""Field types that take exactly the JSON type they name, and say so when they get another."""

import math
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from rest_framework import serializers

from config.api.errors import ApiError, InvalidPagination, InvalidStatus, ValidationFailed
from config.api.ids import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

ID_MAX_LENGTH = 255
NOTE_MAX_LENGTH = 10_000

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_DECIMAL_MAX_LENGTH = 20


class Int64Field(serializers.Field):  # type: ignore[type-arg]
    """A JSON integer within 64 bits: not `true`, not `"1"`, not `1.0`."""

    lowest: ClassVar[int] = INT64_MIN
    highest: ClassVar[int] = INT64_MAX
    default_error_messages = {"type": "Must be an integer.", "range": "Must be from {lowest} to {highest}."}

    def __init__(self, *, minimum: int | None = None, maximum: int | None = None, **options: Any) -> None:
        """Narrow the range to `minimum` to `maximum`, both included."""
        super().__init__(**options)
        self.min_value = self.lowest if minimum is None else minimum
        self.max_value = self.highest if maximum is None else maximum

    def to_internal_value(self, data: Any) -> int:
        """Return the integer."""
        if type(data) is not int:
            self.fail("type")
        if not self.min_value <= data <= self.max_value:
            self.fail("range", lowest=self.min_value, highest=self.max_value)
        number: int = data
        return number

    def to_representation(self, value: Any) -> Any:
        """Show the integer as it is."""
        return value


class Int32Field(Int64Field):
    """A JSON integer within 32 bits."""

    lowest, highest = INT32_MIN, INT32_MAX


class NumberField(serializers.Field):  # type: ignore[type-arg]
    """A finite JSON number within a range."""

    default_error_messages = {"type": "Must be a number.", "range": "Must be from {lowest} to {highest}."}

    def __init__(self, *, minimum: float, maximum: float, **options: Any) -> None:
        """Accept `minimum` to `maximum`, both included."""
        super().__init__(**options)
        self.min_value, self.max_value = minimum, maximum

    def to_internal_value(self, data: Any) -> float:
        """Return the number as a float."""
        if type(data) not in {int, float} or not math.isfinite(data):
            self.fail("type")
        if not self.min_value <= data <= self.max_value:
            self.fail("range", lowest=self.min_value, highest=self.max_value)
        return float(data)

    def to_representation(self, value: Any) -> Any:
        """Show the number as it is."""
        return value


class FlagField(serializers.Field):  # type: ignore[type-arg]
    """JSON `true` or `false`, and nothing that resembles them."""

    default_error_messages = {"type": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        """Return the boolean."""
        if data is not True and data is not False:
            self.fail("type")
        return bool(data)

    def to_representation(self, value: Any) -> Any:
        """Show the boolean as it is."""
        return value


class TextField(serializers.Field):  # type: ignore[type-arg]
    """A JSON string, kept character for character: no trimming, no normalisation."""

    default_error_messages = {
        "type": "Must be a string.",
        "short": "Must have at least {minimum} character(s).",
        "long": "Must have at most {maximum} characters.",
        "nul": "Must not hold a NUL character.",
    }

    def __init__(self, *, min_length: int = 0, max_length: int = NOTE_MAX_LENGTH, **options: Any) -> None:
        """Accept `min_length` to `max_length` characters."""
        super().__init__(**options)
        self.min_length, self.max_length = min_length, max_length

    def to_internal_value(self, data: Any) -> str:
        """Return the text."""
        if not isinstance(data, str):
            self.fail("type")
        if len(data) < self.min_length:
            self.fail("short", minimum=self.min_length)
        if len(data) > self.max_length:
            self.fail("long", maximum=self.max_length)
        if "\0" in data:
            self.fail("nul")
        return str(data)

    def to_representation(self, value: Any) -> Any:
        """Show the text, or the text form of what stands for it."""
        return str(value)


class IdField(TextField):
    """An identifier or a name: 1 to 255 characters."""

    def __init__(self, **options: Any) -> None:
        """Fix the length; every other option is the text field's."""
        super().__init__(**{"min_length": 1, "max_length": ID_MAX_LENGTH, **options})


class OneOfField(TextField):
    """A text out of a fixed set; `refusal` is the error class that another text raises."""

    default_error_messages = {"unknown": "Must be one of: {allowed}."}

    def __init__(self, allowed: Iterable[str], *, refusal: type[ApiError] = ValidationFailed, **options: Any) -> None:
        """Accept the members of `allowed`, exactly as spelt."""
        super().__init__(**options)
        self.allowed = tuple(allowed)
        self.refusal = refusal

    def to_internal_value(self, data: Any) -> str:
        """Return the text."""
        text = super().to_internal_value(data)
        if text not in self.allowed:
            self.fail("unknown", allowed=", ".join(self.allowed))
        return text


class StatusField(OneOfField):
    """A status out of the set of its kind; another is `invalid_status`."""

    def __init__(self, allowed: Iterable[str], **options: Any) -> None:
        """Accept the statuses in `allowed`."""
        super().__init__(allowed, refusal=InvalidStatus, **options)


class FreeField(serializers.Field):  # type: ignore[type-arg]
    """Any JSON value; the parser has bounded its size, depth and numbers."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the value as it came."""
        return data

    def to_representation(self, value: Any) -> Any:
        """Show the value as it is kept."""
        return value


class StrictListField(serializers.ListField):
    """A JSON array of at most `max_length` members: not a string, not an object."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the list of validated members."""
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        members: list[Any] = super().to_internal_value(data)
        return members


class QueryInt64Field(Int64Field):
    """An integer in a query string: decimal ASCII digits, no plus sign, no leading zero."""

    def to_internal_value(self, data: Any) -> int:
        """Return the integer that the text spells."""
        if len(data) > _DECIMAL_MAX_LENGTH or not _DECIMAL.fullmatch(data):
            self.fail("type")
        return super().to_internal_value(int(data))


class QueryFlagField(FlagField):
    """`true` or `false` in a query string."""

    def to_internal_value(self, data: Any) -> bool:
        """Return the boolean that the text spells."""
        return super().to_internal_value({"true": True, "false": False}.get(data))


class PageField(QueryInt64Field):
    """`limit` or `offset`; out of range is `invalid_pagination`."""

    refusal = InvalidPagination
