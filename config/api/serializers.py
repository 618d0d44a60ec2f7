"""Requests, queries and answers: REST framework's serializers, built once per class instead of once per request."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Self

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.settings import api_settings

from config.api.fields import PageField, StrictListField, TextField
from config.api.renderers import rfc3339
from config.core.errors import ApiError, MissingParameter, ValidationFailed


class RequestSerializer(serializers.Serializer[Any]):
    """Validates a JSON object; unknown members are ignored. What spans several members belongs in `validate`."""

    default_error_messages = {"invalid": "Must be a JSON object."}

    @classmethod
    @cache
    def shared(cls) -> Self:
        """Return the one instance of this class; validating keeps no state on it."""
        return cls()

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the validated members that are present, or filled by a default.

        Raises ValidationFailed, or the `refusal` of the first field that failed and has one, with `details`.
        """
        if not isinstance(data, dict):
            raise ValidationFailed("The body must be a JSON object.")
        try:
            return dict(cls.shared().run_validation(data))
        except serializers.ValidationError as error:
            raise cls._refusal(error.detail) from error

    @classmethod
    def _refusal(cls, detail: Any) -> ApiError:
        """Choose the error class for failed fields."""
        details = [{"field": name, "message": message} for name, message in _flatten(detail)]
        fields = cls.shared().fields
        for entry in details:
            refusal = getattr(fields.get(str(entry["field"]).partition(".")[0]), "refusal", None)
            if refusal is not None and refusal is not ValidationFailed:
                return refusal(f"{entry['field']}: {entry['message']}", details=details)  # type: ignore[no-any-return]
        first = details[0]
        return ValidationFailed(f"{first['field']}: {first['message']}", details=details)


class QuerySerializer(RequestSerializer):
    """Validates a query string: each known parameter at most once, unknown ones not at all."""

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        """Return the validated parameters.

        Raises MissingParameter for a required one that is absent, else as a body does.
        """
        fields = cls.shared().fields
        given: dict[str, Any] = {}
        for name, field in fields.items():
            values = data.getlist(name)
            if len(values) > 1:
                refusal, message = getattr(field, "refusal", ValidationFailed), "Must be given once."
                raise refusal(f"{name}: {message}", details=[{"field": name, "message": message}])
            if values:
                given[name] = values[0]
            elif field.required:
                missing = getattr(field, "refusal_missing", MissingParameter)
                raise missing(f"The query parameter `{name}` is required.")
        return super().read(given)


class PageQuery(QuerySerializer):
    """`limit` (1 to 100, default 20) and `offset` (from 0, default 0): specification section 8.

    A list adds its filters as fields, each named after the column that it filters or with that column as `source`.
    """

    limit = PageField(min_value=1, max_value=100, default=20)
    offset = PageField(min_value=0, default=0)


def _flatten(detail: Any, prefix: str = "") -> Iterable[tuple[str, str]]:
    """Yield (dotted path, message) for REST framework's nested error structure."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from _flatten(inner, prefix if own else f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _flatten(inner, prefix)
    else:
        yield prefix, str(detail)


class ResponseSerializer(serializers.Serializer[Any]):
    """Describes an answer and represents it; a field's `source` names the attribute it comes from.

    Asking each field in turn is the dearest part of a list: the members are compiled to one attribute getter and the
    few conversions that their fields need.
    """

    @classmethod
    @cache
    def _plan(cls) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, Callable[[Any], Any]], ...]]:
        """Return (member names, attribute names, conversions by position)."""
        fields = cls().fields
        conversions = ((position, _conversion_of(field)) for position, field in enumerate(fields.values()))
        return (
            tuple(fields),
            tuple(field.source or name for name, field in fields.items()),
            tuple((position, convert) for position, convert in conversions if convert is not None),
        )

    @classmethod
    def sources(cls) -> tuple[str, ...]:
        return cls._plan()[1]

    @classmethod
    def represent_values(cls, values: Sequence[Any]) -> dict[str, Any]:
        """Return the answer made from values in the order of `sources`."""
        names, _, conversions = cls._plan()
        shown = list(values)
        for position, convert in conversions:
            value = shown[position]
            # A text is its own JSON form, and so is null.
            if value is not None and type(value) is not str:
                shown[position] = convert(value)
        return dict(zip(names, shown, strict=True))

    @classmethod
    def represent(cls, thing: Any) -> dict[str, Any]:
        """Return the answer made from an object's attributes; a dict is an answer already."""
        if isinstance(thing, dict):
            return thing
        sources = cls._plan()[1]
        values = attrgetter(*sources)(thing)
        return cls.represent_values(values if len(sources) > 1 else (values,))

    def to_representation(self, instance: Any) -> Any:
        return self.represent(instance)


def _conversion_of(field: Any) -> Callable[[Any], Any] | None:
    """Return what turns an attribute into its JSON form, or None where it is one already.

    Neither null nor a text is ever handed to it.
    """
    if isinstance(field, ResponseSerializer):
        return type(field).represent
    if isinstance(field, serializers.ListSerializer) and isinstance(field.child, ResponseSerializer):
        represent = type(field.child).represent
        return lambda members: [represent(member) for member in members]
    if isinstance(field, StrictListField | serializers.ListField):
        return None
    if isinstance(field, serializers.DateTimeField):
        return rfc3339
    if isinstance(field, serializers.UUIDField | TextField):
        return str
    return None
