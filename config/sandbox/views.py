from collections import Counter
from typing import Any

from django.conf import settings

from config.api import heavy, serializers
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY
from config.sandbox import clock


class ClockRequestSerializer(serializers.RequestSerializer):
    """The time to advance."""

    advance_seconds = serializers.Int64Field(
        min_value=1,
        max_value=int(clock.ADVANCE_MAX.total_seconds()),
        help_text=f"The number of seconds by which to advance the clock, at most {clock.ADVANCE_MAX.days} days.",
    )


def _count(records: str) -> Any:
    return serializers.Int64Field(help_text=f"The number of {records}")


class ClockDone(serializers.ResponseSerializer):
    """Counts of the workers' results, by kind. The workers process the due records of all accounts on this server."""

    counteroffers_expired = _count("applications that were rejected because a counteroffer expired.")
    applications_expired = _count("idle applications that expired.")
    notices_made = _count("notices that were created.")
    notices_overdue = _count("notices and requests for reconsideration whose deadline passed.")
    api_keys_announced = _count("API keys for which the worker emitted `api_key.expiring`.")
    verifications_expired = _count("identity verifications that were not started in time.")
    staged_items_expired = _count("staged items that expired without a decision.")
    payments_completed = _count("open card payments that were completed.")
    payments_failed = _count("open card payments that failed.")
    crypto_payments_confirmed = _count("crypto payments that were confirmed.")
    crypto_payments_failed = _count("crypto payments that failed.")
    crypto_payments_expired = _count("crypto payments that were not signed in time.")
    refresh_tokens = _count("refresh tokens that were deleted.")
    token_families = _count("ended log-ins, app authorizations, and partner tokens that were deleted.")
    oauth_grants = _count("authorization codes that were deleted.")
    idempotency_records = _count(
        "stored responses that were deleted. The idempotency keys of these responses can be used again."
    )
    webhook_deliveries = _count("finished deliveries that were deleted from the log.")

    @classmethod
    def represent(cls, thing: Counter[str]) -> dict[str, Any]:
        return {name: thing[name] for name in cls().get_fields()}


class ClockSerializer(serializers.ResponseSerializer):
    """The result of an advance of the clock."""

    advanced_seconds = serializers.Int64Field(help_text="The number of seconds by which the clock advanced.")
    done = ClockDone(help_text="Counts of the workers' results, by kind.")


class SandboxViewSet(ApiViewSet):
    """The base class of operations that must never be served in production."""

    tag = "sandbox"


class SandboxAccountViewSet(SandboxViewSet):
    @heavy.operation(when=lambda _request: bool(settings.SANDBOX))  # a development server has only one user
    @endpoint(access=FIRST_PARTY, body=ClockRequestSerializer, answer=ClockSerializer, idempotent=True, leased=True)
    def advance(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Advance the clock of your account.

        The API moves the deadlines of your account closer, in steps of at most 7 days. After each step, the API
        processes due expirations, notices, and payments. Access tokens, links in mails, and exports still expire in
        real time. An erasure also starts in real time.
        """
        seconds = body["advance_seconds"]
        return {"advanced_seconds": seconds, "done": clock.advance(request.user.pk, seconds=seconds)}
