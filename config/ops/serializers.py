from config.api import serializers
from config.core.errors import InvalidStatus
from config.ops.access_log import METHODS, OTHER_METHOD
from config.ops.models import RequestLine

METHOD_CHOICES = (*sorted(METHODS), OTHER_METHOD)


class QueryStatusField(serializers.QueryInt64Field):
    refusal = InvalidStatus


class RequestFilter(serializers.FilterSet):
    status = serializers.QueryFilter(
        QueryStatusField(min_value=100, max_value=599, required=False, help_text="The HTTP status.")
    )
    code = serializers.QueryFilter(
        serializers.TextField(min_length=1, max_length=8, required=False, help_text="An error's code, such as `E4002`.")
    )
    route = serializers.QueryFilter(
        serializers.TextField(
            min_length=1, max_length=160, required=False, help_text="The template of a path, as in this list."
        )
    )
    request_id = serializers.QueryFilter(
        serializers.UuidTextField(required=False, help_text="The `request_id` of a response.")
    )
    method = serializers.QueryFilter(
        serializers.OneOfField(METHOD_CHOICES, required=False, help_text="The HTTP method.")
    )
    credential = serializers.QueryFilter(
        serializers.TextField(min_length=1, max_length=80, required=False, help_text="The credential, as in this list.")
    )
    since = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="The time of the oldest request, inclusive."), "at", "gte"
    )
    until = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="The time of the newest request, inclusive."), "at", "lte"
    )


class RequestQuery(serializers.PageQuery):
    filterset_class = RequestFilter


class RequestLineSerializer(serializers.ModelResponseSerializer):
    """One request. It contains no body, query, header, or address."""

    method = serializers.OneOfField(METHOD_CHOICES, help_text="The HTTP method.")
    code = serializers.TextField(
        source="shown_code", allow_null=True, help_text="The code of an error; otherwise null."
    )

    failed_fields = serializers.ListField(
        source="failed_names",
        child=serializers.TextField(),
        help_text="The top-level names of the invalid fields, at most 20; empty if none, and for unknown fields.",
    )

    class Meta:
        model = RequestLine
        fields = ("request_id", "at", "method", "route", "status", "code", "failed_fields", "duration_ms", "credential")


class RequestsPageSerializer(serializers.PageSerializer):
    """A page of the account's requests."""

    requests = RequestLineSerializer(many=True, help_text="The requests, newest first.")
