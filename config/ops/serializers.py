from config.api import serializers
from config.core.errors import InvalidStatus
from config.ops.access_log import METHODS, OTHER_METHOD
from config.ops.models import RequestLine

METHOD_CHOICES = (*sorted(METHODS), OTHER_METHOD)


class QueryStatusField(serializers.QueryInt64Field):
    refusal = InvalidStatus


class RequestFilter(serializers.FilterSet):
    status = serializers.QueryFilter(
        QueryStatusField(min_value=100, max_value=599, required=False, help_text="Only requests with this HTTP status.")
    )
    code = serializers.QueryFilter(
        serializers.TextField(
            min_length=1,
            max_length=8,
            required=False,
            help_text="Only requests that returned this error code, such as `E4002`.",
        )
    )
    route = serializers.QueryFilter(
        serializers.TextField(
            min_length=1,
            max_length=160,
            required=False,
            help_text="Only requests to this `route`, as the list returns it.",
        )
    )
    request_id = serializers.QueryFilter(
        serializers.UuidTextField(required=False, help_text="Only the request with this `request_id`.")
    )
    method = serializers.QueryFilter(
        serializers.OneOfField(METHOD_CHOICES, required=False, help_text="Only requests with this HTTP method.")
    )
    credential = serializers.QueryFilter(
        serializers.TextField(
            min_length=1,
            max_length=80,
            required=False,
            help_text="Only requests with this `credential`, as the list returns it.",
        )
    )
    since = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="Only requests at or after this time."), "at", "gte"
    )
    until = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="Only requests at or before this time."), "at", "lte"
    )


class RequestQuery(serializers.PageQuery):
    filterset_class = RequestFilter


class RequestLineSerializer(serializers.ModelResponseSerializer):
    """One request, without its body, query, headers, and address."""

    method = serializers.OneOfField(METHOD_CHOICES, help_text="The HTTP method.")
    code = serializers.TextField(
        source="shown_code", allow_null=True, help_text="The code of an error; otherwise null."
    )

    failed_fields = serializers.ListField(
        source="failed_names",
        child=serializers.TextField(),
        help_text="The top-level names of the invalid fields, at most 20. Empty if no field is invalid. Unknown fields "
        "are not listed.",
    )

    class Meta:
        model = RequestLine
        fields = ("request_id", "at", "method", "route", "status", "code", "failed_fields", "duration_ms", "credential")


class RequestsPageSerializer(serializers.PageSerializer):
    """A page of the account's requests."""

    requests = RequestLineSerializer(many=True, help_text="The requests, newest first.")
