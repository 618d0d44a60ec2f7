"""REST framework as in its guides: ModelViewSet, ModelSerializer, default simplejwt, and an API key class.

It uses the platform's models, so tables and constraints are the same. Database connections persist, which is not
Django's default, and makes this reference faster. The settings are in `stock_settings`.
"""

import hashlib
from uuid import uuid4

from django.db import connection, transaction
from django.shortcuts import get_object_or_404
from django.urls import include, path
from django.utils import timezone
from rest_framework import exceptions, mixins, pagination, routers, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.models import IdempotencyRecord
from config.webhooks.models import Event
from credit.core.machine import MACHINE
from credit.models import Application, ApplicationHistory, Offer
from tests.bench.references.work import quote_of


class ApplicationSerializer(serializers.ModelSerializer):
    """An application in requests and responses."""

    consumer_id = serializers.CharField()
    application_data = serializers.JSONField(required=False, allow_null=True)
    applicants = serializers.JSONField(read_only=True)
    share = serializers.JSONField(read_only=True)
    initial_status = serializers.ChoiceField(choices=MACHINE.statuses, required=False, write_only=True)

    class Meta:
        model = Application
        fields = [
            "id", "consumer_id", "offer_id", "provider_id", "status", "created_at", "updated_at", "application_data",
            "applicants", "share", "notes", "reviewed_at", "reviewed_by", "status_reason", "submitted_at",
            "initial_status",
        ]  # fmt: skip
        read_only_fields = [
            "id", "status", "created_at", "updated_at", "notes", "reviewed_at", "reviewed_by", "status_reason",
            "submitted_at",
        ]  # fmt: skip

    def validate_consumer_id(self, value):
        """Reject an application for another account."""
        if value != str(self.context["request"].user.pk):
            raise exceptions.AuthenticationFailed("The user id does not match.")
        return value

    def validate_offer_id(self, value):
        """Reject a closed offer."""
        offer = Offer.objects.filter(pk=value).first()
        if offer is not None and not offer.is_active:
            raise serializers.ValidationError("The offer is not open.")
        return value

    def create(self, validated_data):
        """Create the application."""
        now = timezone.now()
        status = validated_data.pop("initial_status", "draft")
        return Application.objects.create(
            **validated_data, status=status, initial_status=status, created_at=now, updated_at=now,
            data_changed_by_id=validated_data["consumer_id"],
        )  # fmt: skip


class StatusSerializer(serializers.Serializer):
    """A change of status."""

    status = serializers.ChoiceField(choices=MACHINE.statuses)
    updated_by = serializers.CharField(max_length=255)
    reason = serializers.CharField(required=False, allow_null=True, default=None)
    metadata = serializers.JSONField(required=False, allow_null=True, default=None)


class IdempotentCreate(mixins.CreateModelMixin):
    """Returns the stored response to a repeated Idempotency-Key."""

    def create(self, request, *args, **kwargs):
        """Create an application, at most once per Idempotency-Key."""
        key = serializers.UUIDField().run_validation(request.headers.get("Idempotency-Key"))
        body = JSONRenderer().render(request.data)
        fingerprint = hashlib.sha256(f"{request.method}\n{request.path}\n".encode() + body).hexdigest()
        with transaction.atomic():
            lock = hashlib.sha256(b"%d:%b" % (request.user.pk, key.bytes)).digest()[:8]
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [int.from_bytes(lock, "big", signed=True)])
                if not cursor.fetchone()[0]:
                    return Response({"error": "request_in_progress"}, status=409)
            stored = IdempotencyRecord.objects.filter(owner=request.user, key=key).first()
            if stored is not None:
                if stored.fingerprint != fingerprint:
                    return Response({"error": "idempotency_mismatch"}, status=422)
                return Response(serializers.json.loads(bytes(stored.body)), status=stored.status)
            response = super().create(request, *args, **kwargs)
            body = JSONRenderer().render(response.data)
            record = {"fingerprint": fingerprint, "status": response.status_code, "body": body}
            IdempotencyRecord.objects.create(owner=request.user, key=key, created_at=timezone.now(), **record)
        return response


class Pages(pagination.LimitOffsetPagination):
    """Pagination by limit and offset without a count; the response is a list."""

    default_limit, max_limit = 20, 100

    def paginate_queryset(self, queryset, request, view=None):
        """Return the requested part of the list."""
        offset = self.get_offset(request)
        return list(queryset[offset : offset + self.get_limit(request)])

    def get_paginated_response(self, data):
        """Return the list without pagination fields."""
        return Response(data)


class ApplicationViewSet(IdempotentCreate, viewsets.ModelViewSet):
    """The applications of the caller."""

    serializer_class = ApplicationSerializer
    pagination_class = Pages

    def get_queryset(self):
        """Return the caller's applications, newest first."""
        return Application.objects.filter(consumer=self.request.user).order_by("-id")

    def perform_create(self, serializer):
        """Create the application and its event."""
        write_event("created", serializer.save())

    @action(detail=True, methods=["put"], url_path="status")
    def move(self, request, pk=None):
        """Change the status of the application."""
        body = StatusSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        wanted = body.validated_data
        now = timezone.now()
        with transaction.atomic():
            application = get_object_or_404(self.get_queryset().select_for_update(), pk=pk)
            before = application.status
            if wanted["status"] not in application.requestable():
                raise serializers.ValidationError(
                    "The application's status does not allow this change. `details.allowed` lists the allowed statuses."
                )
            application.status = wanted["status"]
            application.status_reason = wanted["reason"]
            application.moves += 1
            application.updated_at = now
            application.save(update_fields=["status", "status_reason", "moves", "updated_at"])
            ApplicationHistory.objects.create(
                application=application, position=application.moves, status=application.status,
                previous_status=before, changed_by=wanted["updated_by"], changed_at=now, reason=wanted["reason"],
                metadata=wanted["metadata"], principal=request.user, credential="jwt",
            )  # fmt: skip
            write_event(application.status, application)
        return Response(self.get_serializer(application).data)


def write_event(verb, application):
    """Write an event to the outbox."""
    Event.objects.create(
        account_id=application.consumer_id,
        type=f"application.{verb}",
        object={
            "application_id": str(application.id),
            "status": application.status,
            "offer_id": application.offer_id,
            "provider_id": application.provider_id,
        },
        request_id=str(uuid4()),
        created_at=timezone.now(),
    )


class FeeQuery(serializers.Serializer):
    """The query of a fee quote."""

    amount = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class FeeSerializer(serializers.Serializer):
    """A fee quote."""

    amount_cents = serializers.IntegerField()
    fee_amount_cents = serializers.IntegerField()
    fee_percentage = serializers.FloatField()
    net_amount_cents = serializers.IntegerField()


class FeeView(APIView):
    """The endpoint that quotes the processing fee for an amount."""

    def get(self, request):
        """Quote the fee."""
        query = FeeQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response(FeeSerializer(quote_of(query.validated_data["amount"])).data)


router = routers.SimpleRouter(trailing_slash=False)
router.register("applications", ApplicationViewSet, basename="application")
urlpatterns = [path("v1/", include(router.urls)), path("v1/payments/calculate-fee", FeeView.as_view())]
