"""REST framework's fields, made to take exactly the JSON type that they name."""

import math
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.fields import empty

from config.core.errors import ApiError, InvalidPagination, InvalidStatus, ValidationFailed
from config.core.ids import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

ID_MAX_LENGTH = 255
NOTE_MAX_LENGTH = 10_000

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_DECIMAL_MAX_LENGTH = 20


class Int64Field(serializers.IntegerField):
    """A JSON integer within 64 bits: not `true`, not `"1"`, not `1.0`."""

    lowest: ClassVar[int] = INT64_MIN
    highest: ClassVar[int] = INT64_MAX
    default_error_messages = {
        "invalid": "Must be an integer.",
        "min_value": "Must be at least {min_value}.",
        "max_value": "Must be at most {max_value}.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": self.lowest, "max_value": self.highest, **options})

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return int(data)


class Int32Field(Int64Field):
    """A JSON integer within 32 bits."""

    lowest, highest = INT32_MIN, INT32_MAX


class NumberField(serializers.FloatField):
    """A finite JSON number."""

    default_error_messages = {**Int64Field.default_error_messages, "invalid": "Must be a number."}

    def to_internal_value(self, data: Any) -> float:
        if type(data) not in {int, float} or not math.isfinite(data):
            self.fail("invalid")
        return float(data)


class FlagField(serializers.BooleanField):
    """JSON `true` or `false`, and nothing that resembles them."""

    default_error_messages = {"invalid": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid")
        return bool(data)


class TextField(serializers.CharField):
    """A JSON string, kept character for character: no trimming, no normalisation."""

    default_error_messages = {
        "invalid": "Must be a string.",
        "min_length": "Must have at least {min_length} character(s).",
        "max_length": "Must have at most {max_length} characters.",
    }

    def __init__(self, *, min_length: int = 0, max_length: int = NOTE_MAX_LENGTH, **options: Any) -> None:
        options |= {"min_length": min_length or None, "max_length": max_length}
        super().__init__(trim_whitespace=False, allow_blank=min_length == 0, **options)

    def run_validation(self, data: Any = empty) -> Any:
        """Validate an empty text like any other, which REST framework's own field does not."""
        return serializers.Field.run_validation(self, data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(data)


class IdField(TextField):
    """An identifier or a name: 1 to 255 characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": ID_MAX_LENGTH, **options})


class OneOfField(serializers.ChoiceField):
    """A text out of a fixed set; `refusal` is the error class that another text raises."""

    default_error_messages = {"invalid": "Must be a string.", "invalid_choice": "Must be one of: {allowed}."}

    def __init__(self, allowed: Iterable[str], *, refusal: type[ApiError] = ValidationFailed, **options: Any) -> None:
        super().__init__(choices=[(one, one) for one in allowed], **options)
        self.refusal = refusal

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if data not in self.choices:
            self.fail("invalid_choice", allowed=", ".join(self.choices))
        return str(data)


class StatusField(OneOfField):
    """A status out of the set of its kind; another is `invalid_status`."""

    def __init__(self, allowed: Iterable[str], **options: Any) -> None:
        super().__init__(allowed, refusal=InvalidStatus, **options)


class FreeField(serializers.JSONField):
    """Any JSON value; the parser has bounded its size, depth and numbers."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class StrictListField(serializers.ListField):
    """A JSON array: not a string, not an object."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        return list(super().to_internal_value(data))


class QueryInt64Field(Int64Field):
    """An integer in a query string: decimal ASCII digits, no plus sign, no leading zero."""

    def to_internal_value(self, data: Any) -> int:
        if len(data) > _DECIMAL_MAX_LENGTH or not _DECIMAL.fullmatch(data):
            self.fail("invalid")
        return int(data)


class QueryFlagField(FlagField):
    """`true` or `false` in a query string."""

    def to_internal_value(self, data: Any) -> bool:
        return super().to_internal_value({"true": True, "false": False}.get(data))


class PageField(QueryInt64Field):
    """`limit` or `offset`; out of range is `invalid_pagination`."""

    refusal = InvalidPagination
