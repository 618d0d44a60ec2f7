"""Serializers of requests, queries, and responses, which are stricter and faster than REST framework's serializers.

A field accepts only its JSON type. A serializer is instantiated once per class.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from datetime import date, datetime
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Self

import django_filters
from django.contrib.auth import get_user_model
from django.db import models
from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.settings import api_settings

from config.core.errors import ApiError, InvalidPagination, InvalidStatus, MissingParameter, ValidationFailed
from config.core.ids import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, parse_uuid
from config.core.json_text import JsonTextField, day_of, parse_rfc3339, rfc3339
from config.core.names import clean_name, clean_words

# An app's `serializers.py` imports these names from this module.
DateField = serializers.DateField
DateTimeField = serializers.DateTimeField
DictField = serializers.DictField
FilterSet = django_filters.FilterSet
UUIDField = serializers.UUIDField
ValidationError = serializers.ValidationError

ID_MAX_LENGTH = 255
NOTE_MAX_LENGTH = 10_000
NULLABLE: dict[str, Any] = {"allow_null": True, "default": None}  # a field that can be null or absent

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_DECIMAL_MAX_LENGTH = 20


class Int64Field(serializers.IntegerField):
    """A JSON integer of at most 64 bits. Rejects `true`, `"1"`, and `1.0`."""

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
    lowest, highest = INT32_MIN, INT32_MAX


class NumberField(serializers.FloatField):
    default_error_messages = {**Int64Field.default_error_messages, "invalid": "Must be a number."}

    def to_internal_value(self, data: Any) -> float:
        if type(data) not in {int, float} or not math.isfinite(data):
            self.fail("invalid")
        return float(data)


class FlagField(serializers.BooleanField):
    default_error_messages = {"invalid": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid")
        return bool(data)


class ListField(serializers.ListField):
    default_error_messages = {
        "not_a_list": "Must be an array.",
        "empty": "Must not be empty.",
        "min_length": "Must have at least {min_length} item(s).",
        "max_length": "The maximum number of items is {max_length}.",
    }


class TextField(serializers.CharField):
    """A JSON string that is stored unchanged, without trimming or normalization."""

    default_error_messages = {
        "invalid": "Must be a string.",
        "min_length": "Must have at least {min_length} character(s).",
        "max_length": "Must have at most {max_length} characters.",
    }

    def __init__(self, *, min_length: int = 0, max_length: int = NOTE_MAX_LENGTH, **options: Any) -> None:
        options |= {"min_length": min_length or None, "max_length": max_length}
        super().__init__(trim_whitespace=False, allow_blank=min_length == 0, **options)

    def run_validation(self, data: Any = empty) -> Any:
        """Validate an empty string. REST framework's field would skip the validators."""
        return serializers.Field.run_validation(self, data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(data)


class IdField(TextField):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": ID_MAX_LENGTH, **options})


class PrintableIdField(IdField):
    """An ID without control characters, line breaks, and invisible characters, for display."""

    default_error_messages = {"unprintable": "Must contain only printable characters."}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not text.isprintable():
            self.fail("unprintable")
        return text


class NameField(IdField):
    """A displayed name, normalized to NFC. Rejects blank, control, and invisible characters."""

    clean = staticmethod(clean_name)

    def to_internal_value(self, data: Any) -> str:
        try:
            return self.clean(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


class WordsField(NameField):
    """A personal name, a line of an address, or a title (see `clean_words`)."""

    clean = staticmethod(clean_words)


class LinesField(TextField):
    """Lines of words, such as a postal address (see `clean_words`). The field can be empty."""

    def to_internal_value(self, data: Any) -> str:
        lines = super().to_internal_value(data).splitlines()
        try:
            return "\n".join(clean_words(line) if line.strip() else "" for line in lines).strip("\n")
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


class DayField(TextField):
    """A calendar day such as `2026-01-31`."""

    default_error_messages = {"day": "Must be a date such as 2026-01-31."}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if day_of(text) is None:
            self.fail("day")
        return text


class OneOfField(serializers.ChoiceField):
    """A string from a fixed set. Other strings raise `refusal`."""

    refusal: ClassVar[type[ApiError]] = ValidationFailed
    default_error_messages = {"invalid": "Must be a string.", "invalid_choice": "Must be one of: {allowed}."}

    def __init__(self, allowed: Iterable[str], **options: Any) -> None:
        super().__init__(choices=[(choice, choice) for choice in allowed], **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if data not in self.choices:
            self.fail("invalid_choice", allowed=", ".join(self.choices))
        return str(data)


class StatusField(OneOfField):
    refusal = InvalidStatus


OPEN_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}


class FreeField(serializers.JSONField):
    """A JSON value that is returned unchanged.

    The OpenAPI document describes the value with the JSON Schema `shape`. Without a shape, any JSON value is valid.
    """

    def __init__(self, *, shape: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(**options)
        if shape is not None:
            extend_schema_field(shape)(self)  # type: ignore[type-var]  # the decorator accepts fields too

    def to_internal_value(self, data: Any) -> Any:
        return data


class QueryInt64Field(Int64Field):
    """An integer in a query string: decimal ASCII digits without a plus sign or a leading zero."""

    def to_internal_value(self, data: Any) -> int:
        if len(data) > _DECIMAL_MAX_LENGTH or not _DECIMAL.fullmatch(data):
            self.fail("invalid")
        return int(data)


class QueryFlagField(FlagField):
    def to_internal_value(self, data: Any) -> bool:
        return super().to_internal_value({"true": True, "false": False}.get(data))


class QueryTimeField(serializers.DateTimeField):
    """An RFC 3339 time with an offset in a query string."""

    default_error_messages = {"invalid": "Must be an RFC 3339 date and time, such as 2026-01-31T12:00:00Z."}

    def to_internal_value(self, data: Any) -> datetime:
        moment = parse_rfc3339(data)
        if moment is None:
            self.fail("invalid")
        return moment


class UuidTextField(UUIDField):
    """A UUID in its canonical spelling in a query string."""

    default_error_messages = {"invalid": "Must be a UUID in lower case with hyphens."}

    def to_internal_value(self, data: Any) -> Any:
        identifier = parse_uuid(data) if isinstance(data, str) else None
        if identifier is None:
            self.fail("invalid")
        return identifier


class PageField(QueryInt64Field):
    refusal = InvalidPagination


def without_underscores(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with their API names. The name of `from_` becomes `from`, which is a keyword in Python."""
    return {name.removesuffix("_"): field for name, field in fields.items()}


class RequestSerializer(serializers.Serializer[Any]):
    """Validates a JSON object. Rules over several fields belong in `validate`."""

    default_error_messages = {"invalid": "Must be a JSON object."}
    refuses_unknown: ClassVar[bool] = False  # True if an unknown field in a body is an error; not for nested objects
    is_optional: ClassVar[bool] = False  # True if a request without a body means `{}`
    # If set, other fields can be null or absent, even without a default.
    requires: ClassVar[Collection[str] | None] = None

    def get_fields(self) -> dict[str, Any]:
        fields = without_underscores(super().get_fields())
        for name, field in fields.items():
            if self.requires is not None and field.required and name not in self.requires:
                field.required, field.allow_null, field.default = False, True, None
        return fields

    @classmethod
    @cache
    def shared(cls) -> Self:
        """Return the only instance of this class. Validation does not change the instance."""
        return cls()

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the fields of the request, and the defaults of absent fields.

        Raises ValidationFailed, or the `refusal` of an invalid field.
        """
        if not isinstance(data, dict):
            raise ValidationFailed("The body must be a JSON object.")
        try:
            return dict(cls.shared().run_validation(data))
        except serializers.ValidationError as error:
            raise cls._refusal(error.detail) from error

    @classmethod
    def _refusal(cls, detail: Any) -> ApiError:
        details = [{"field": name, "message": message} for name, message in _flatten(detail)]
        fields = cls.shared().fields
        for entry in details:
            refusal = getattr(fields.get(str(entry["field"]).partition(".")[0]), "refusal", None)
            if refusal is not None and refusal is not ValidationFailed:
                return refusal(f"{entry['field']}: {entry['message']}", details=details)  # type: ignore[no-any-return]
        first = details[0]
        return ValidationFailed(f"{first['field']}: {first['message']}", details=details)


class QuerySerializer(RequestSerializer):
    """Validates a query string. Each known parameter may occur once.

    `filterset_class` declares the filters of a list, each a `QueryFilter`. The serializer validates the values of the
    filters, and the view's `filter_queryset` applies the filters. `period` contains the names of the parameters with
    the first and the last time.
    """

    filterset_class: ClassVar[type[django_filters.FilterSet] | None] = None
    period: ClassVar[tuple[str, str]] = ("since", "until")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        first, last = self.period
        if first in attrs and last in attrs and attrs[first] > attrs[last]:
            raise serializers.ValidationError({first: ["Must not be later than the end of the period."]})
        return attrs

    @classmethod
    def filters(cls) -> dict[str, Any]:
        return {} if cls.filterset_class is None else cls.filterset_class.base_filters

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **{name: deepcopy(item.parameter()) for name, item in self.filters().items()}}

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        """Return the parameters. Raises the errors of `RequestSerializer.read`, and MissingParameter."""
        fields = cls.shared().fields
        values_by_name: dict[str, Any] = {}
        for name, field in fields.items():
            values = data.getlist(name)
            if len(values) > 1:
                refusal, message = getattr(field, "refusal", ValidationFailed), "Must be sent once."
                raise refusal(f"{name}: {message}", details=[{"field": name, "message": message}])
            if values:
                values_by_name[name] = values[0]
            elif field.required:
                raise MissingParameter(f"The query parameter `{name}` is required.")
        return super().read(values_by_name)


class PageQuery(QuerySerializer):
    """`limit` (1 to 100, default 20) and `offset` (from 0, default 0): specification section 8."""

    refuses_unknown = True  # otherwise, a misspelled filter would return the whole list

    limit = PageField(min_value=1, max_value=100, default=20)
    offset = PageField(min_value=0, default=0)


class QueryFilter(django_filters.Filter):
    """A filter of a list. The serializer field `parameter` validates and describes the filter's value.

    The form fields of django-filter would trim strings, convert empty strings to null, and accept `+1` or Arabic
    digits.
    """

    def __init__(self, parameter: Any, *lookup: str, **options: Any) -> None:
        super().__init__(*lookup, **options)
        # Each request copies the filters of a filter set. Copying the field would be slow, so a function returns it.
        self.parameter = lambda: parameter


def _flatten(detail: Any, prefix: str = "") -> Iterable[tuple[str, str]]:
    """Yield `(dotted path, message)` for each error in REST framework's nested errors."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from _flatten(inner, prefix if own else f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _flatten(inner, prefix)
    else:
        yield prefix, str(detail)


@extend_schema_serializer(many=False)  # the schema describes the complete response, also for `list`
class ResponseSerializer(serializers.Serializer[Any]):
    """Describes and renders a response. A field's `source` is the name of an attribute.

    Rendering each field separately is slow. So the fields are compiled to one attribute getter and the necessary
    conversions. An optional field is omitted if its attribute is missing or None.
    """

    # Small pages are not measured, because a row has at most about 100 KiB of a caller's data.
    unweighed: ClassVar[int] = 20

    def get_fields(self) -> dict[str, Any]:
        return without_underscores(super().get_fields())

    @classmethod
    @cache
    def _plan(cls) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, Callable[[Any], Any]], ...]]:
        """Return `(field names, attribute names, conversions by position)`."""
        fields = cls().fields
        conversions = ((position, _conversion_of(field)) for position, field in enumerate(fields.values()))
        return (
            tuple(fields),
            tuple(field.source or name for name, field in fields.items()),
            tuple((position, convert) for position, convert in conversions if convert is not None),
        )

    @classmethod
    def seal_of(cls, thing: Any) -> Callable[[bytes, str], bytes] | None:  # noqa: ARG003
        """Return the function that encrypts a response stored under an Idempotency-Key, or None for no encryption."""
        return None

    @classmethod
    def opened(cls, kept: bytes, place: str) -> bytes:  # noqa: ARG003
        """Return the response body from the bytes stored under an Idempotency-Key."""
        return kept

    @classmethod
    def sources(cls) -> tuple[str, ...]:
        return cls._plan()[1]

    @classmethod
    def represent_values(cls, values: Sequence[Any]) -> dict[str, Any]:
        names, _, conversions = cls._plan()
        shown = list(values)
        for position, convert in conversions:
            value = shown[position]
            if value is not None and type(value) is not str:
                shown[position] = convert(value)
        answer = dict(zip(names, shown, strict=True))
        for name in cls._optional():
            if answer[name] is None:
                del answer[name]
        return answer

    @classmethod
    @cache
    def _optional(cls) -> tuple[str, ...]:
        return tuple(name for name, field in cls().fields.items() if not (field.required or field.allow_null))

    @classmethod
    def represent(cls, thing: Any) -> dict[str, Any]:
        """Return the response for `thing`, an object with attributes or a dictionary."""
        names, sources, _ = cls._plan()
        optional = cls._optional()
        pairs = zip(names, sources, strict=True)
        values: Sequence[Any]
        if isinstance(thing, dict):
            values = [thing.get(source) if name in optional else thing[source] for name, source in pairs]
        elif optional or len(sources) == 1:
            values = [getattr(thing, at, None) if name in optional else attrgetter(at)(thing) for name, at in pairs]
        else:
            values = attrgetter(*sources)(thing)
        return cls.represent_values(values)

    def to_representation(self, instance: Any) -> Any:
        return self.represent(instance)


class ModelResponseSerializer(ResponseSerializer, serializers.ModelSerializer[Any]):
    """Describes a response for a model.

    Fields in `Meta.fields` without a declaration are columns of `Meta.model`. A foreign key is represented by its
    column (`wallet_id`). A field without a `help_text` inherits the column's.
    """

    serializer_choice_field = OneOfField
    serializer_field_mapping = {
        models.BigIntegerField: Int64Field,
        models.IntegerField: Int32Field,
        models.FloatField: NumberField,
        models.BooleanField: FlagField,
        models.CharField: TextField,
        models.TextField: TextField,
        models.UUIDField: UUIDField,
        models.DateTimeField: DateTimeField,
        models.DateField: serializers.DateField,
        JsonTextField: FreeField,
    }

    def get_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().get_fields()
        model: Any = self.Meta.model
        columns = {column.attname: column for column in model._meta.concrete_fields}
        for name, field in fields.items():
            column = columns.get(field.source or name)
            if column is not None and field.help_text is None:
                field.help_text = column.help_text or None
        return fields

    def build_standard_field(self, field_name: str, model_field: Any) -> tuple[type[Any], dict[str, Any]]:
        """Return the field of a column with its type and nullability, without the validation of requests."""
        kind, _ = super().build_standard_field(field_name, model_field)
        options = {"allowed": [value for value, _ in model_field.flatchoices]} if model_field.choices else {}
        return kind, options | ({"allow_null": True} if model_field.null else {})

    def build_property_field(
        self, field_name: str, model_class: type[models.Model]
    ) -> tuple[type[Any], dict[str, Any]]:
        """Return the field of a foreign key's column: a string for an account, otherwise the key's type."""
        keys = (field for field in model_class._meta.concrete_fields if isinstance(field, models.ForeignKey))
        key = next((key for key in keys if key.attname == field_name), None)
        if key is None:
            # Only declared fields can represent properties, so this call raises an error.
            return self.build_unknown_field(field_name, model_class)
        kind, _ = self.build_standard_field(field_name, key.target_field)
        return TextField if key.related_model is get_user_model() else kind, {"allow_null": True} if key.null else {}


class CollectionSerializer(ResponseSerializer):
    """A complete list: the rows, in a field that the subclass declares, and `total`. A view returns the queryset.

    A subclass declares `total` to change its description.
    """

    def get_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().get_fields()
        fields.setdefault("total", Int64Field())
        return fields

    @classmethod
    @cache
    def rows(cls) -> tuple[str, Any]:
        """Return the field that contains the rows, and the serializer of a row."""
        fields: Iterable[tuple[str, Any]] = cls().fields.items()
        return next(
            (name, type(field.child)) for name, field in fields if isinstance(field, serializers.ListSerializer)
        )


class PageSerializer(CollectionSerializer):
    """A page of a list: the rows, in a field that the subclass declares, `total`, and `has_more`."""

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "has_more": FlagField()}


class JsonPartSerializer(ResponseSerializer):
    """Describes a part of stored JSON, which is returned unchanged."""

    @classmethod
    def represent(cls, thing: Any) -> Any:
        return thing


def _conversion_of(field: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts an attribute to JSON, or None if no conversion is necessary.

    The function is not called for None and strings.
    """
    if isinstance(field, ResponseSerializer):
        return type(field).represent
    if isinstance(field, serializers.ListSerializer) and isinstance(field.child, ResponseSerializer):
        represent = type(field.child).represent
        return lambda members: [represent(member) for member in members]
    if isinstance(field, serializers.DateTimeField | serializers.DateField):
        return rfc3339 if isinstance(field, serializers.DateTimeField) else date.isoformat
    if isinstance(field, serializers.UUIDField | TextField):
        return str
    return None
