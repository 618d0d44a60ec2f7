"""Functions that create, change, delete, and test webhook endpoints, rotate their secrets, and redeliver events."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from config.clients.addresses import AddressRefused, read_url
from config.core.encryption import readable, sealed_values
from config.core.errors import ApiError, ValidationFailed
from config.core.ids import first_or, get_by_uuid
from config.webhooks.catalogue import ENDPOINT_DISABLED, TEST
from config.webhooks.events import record_event
from config.webhooks.models import BY_OWNER, DISABLED, ENABLED, Delivery, Endpoint, EndpointQuerySet
from config.webhooks.publishing import publish_account, publish_in_transaction
from config.webhooks.signing import new_secret

ENDPOINTS_MAX = 16
DEFAULT_GRACE_SECONDS = 86_400
GRACE_MAX_SECONDS = 604_800


class WebhookEndpointNotFound(ApiError):
    status, error, code, stored = 404, "webhook_endpoint_not_found", "E4009", True
    message = "Webhook endpoint not found."


def endpoints_of(credential: Any) -> EndpointQuerySet:
    """Select the endpoints that a credential can access. An app can access only endpoints that it created."""
    own = Endpoint.objects.present().filter(account_id=credential.user_id)
    return own.filter(client_id=credential.client_id) if credential.delegated else own


def find_endpoint(text: str, credential: Any) -> Endpoint:
    return get_by_uuid(endpoints_of(credential), text, WebhookEndpointNotFound)


def deliveries_of(credential: Any) -> QuerySet[Delivery]:
    own = Delivery.objects.filter(account_id=credential.user_id)
    return own.filter(endpoint__client_id=credential.client_id) if credential.delegated else own


def check_url(url: str) -> None:
    """Raise ValidationFailed for a URL that is not an allowed receiver.

    The host name is not resolved here, because a slow name server would delay the request. Every delivery checks the
    addresses.
    """
    try:
        read_url(url)
    except AddressRefused as refusal:
        raise ValidationFailed.of_member("url", str(refusal)) from refusal


def create_endpoint(
    *, account_id: int, url: str, event_types: Any, description: str, now: datetime, client_id: str = ""
) -> Endpoint:
    """Create an endpoint that receives later events.

    Raises ValidationFailed like `check_url`, or for more than ENDPOINTS_MAX endpoints of the account.
    """
    check_url(url)
    _publish_backlog(account_id, now=now)
    with transaction.atomic():
        publish_in_transaction(account_id, now=now)  # the lock on the account's feed makes the count exact
        if Endpoint.objects.present().filter(account_id=account_id).count() >= ENDPOINTS_MAX:
            raise ValidationFailed(f"An account has at most {ENDPOINTS_MAX} webhook endpoints.")
        return Endpoint.objects.create(
            account_id=account_id,
            client_id=client_id,
            url=url,
            event_types=event_types,
            description=description,
            secret=new_secret(),
            created_at=now,
            updated_at=now,
        )


def change_endpoint(endpoint: Endpoint, *, changes: dict[str, Any], now: datetime) -> Endpoint:
    """Change the `url`, `event_types`, `description`, or `status` of an endpoint. Return the changed endpoint.

    The old event types apply to earlier events. Raises ValidationFailed like `check_url`, and WebhookEndpointNotFound
    for a deleted endpoint.
    """
    if "url" in changes:
        check_url(changes["url"])
        changes["failing_since"] = None  # failures of the old URL do not affect the new URL
    status = changes.pop("status", None)
    _publish_backlog(endpoint.account_id, now=now)
    with transaction.atomic():
        publish_in_transaction(endpoint.account_id, now=now)
        present = Endpoint.objects.present().filter(pk=endpoint.pk)
        if status == ENABLED:
            enabled = {"status": ENABLED, "disabled_reason": None, "disabled_at": None, "failing_since": None}
            present.filter(status=DISABLED).update(**enabled)
        if not present.update(**changes, updated_at=now):
            raise WebhookEndpointNotFound
        if status == DISABLED:
            disable(endpoint.pk, BY_OWNER, now=now)
        return present.get()


def _publish_backlog(account_id: int, *, now: datetime) -> None:
    """If no transaction is open, publish earlier events in separate transactions."""
    if not transaction.get_connection().in_atomic_block:
        publish_account(account_id, now=now)


def disable(endpoint_id: UUID, reason: str, *, now: datetime) -> bool:
    """Disable an endpoint, and record the event in the caller's transaction.

    Return False if the endpoint is already disabled.
    """
    enabled = Endpoint.objects.enabled().filter(pk=endpoint_id)
    if not enabled.update(status=DISABLED, disabled_reason=reason, disabled_at=now, updated_at=now):
        return False
    account_id = Endpoint.objects.values_list("account_id", flat=True).get(pk=endpoint_id)
    fields = {"endpoint_id": str(endpoint_id), "status": DISABLED, "reason": reason}
    record_event(ENDPOINT_DISABLED, account_id=account_id, now=now, **fields)
    return True


def disable_each(reason: str, *, now: datetime, **owner: Any) -> None:
    """Disable the endpoints that match `account_id`, `client_id` (the app that created the endpoint), or both."""
    with transaction.atomic():
        for endpoint_id in Endpoint.objects.enabled().filter(**owner).values_list("pk", flat=True):
            disable(endpoint_id, reason, now=now)


def delete_endpoint(endpoint: Endpoint, *, now: datetime) -> None:
    """Delete an endpoint and its secrets, but not its deliveries in the log. Raises WebhookEndpointNotFound."""
    forgotten = sealed_values(endpoint, secret="", previous_secret=None)
    present = Endpoint.objects.present().filter(pk=endpoint.pk)
    if not present.update(deleted_at=now, updated_at=now, **forgotten):
        raise WebhookEndpointNotFound


def rotate_secret(endpoint_id: UUID, *, grace: timedelta, now: datetime) -> Endpoint:
    """Create a new secret for an endpoint. Raises WebhookEndpointNotFound.

    During `grace`, the replaced secret also signs. Older secrets no longer sign.
    """
    with transaction.atomic():
        endpoint = _lock(endpoint_id)
        replaced = readable(lambda: endpoint.secret) if grace else None
        endpoint.previous_secret = replaced
        endpoint.previous_secret_until = now + grace if replaced else None
        endpoint.secret = new_secret()
        endpoint.secret_version += 1
        endpoint.secret_proven = replaced is None
        endpoint.updated_at = now
        endpoint.save()
    return endpoint


def prove_secret(endpoint: Endpoint) -> None:
    """Store that the receiver accepted a test with the current secret.

    If the secret was rotated after the test, store nothing.
    """
    Endpoint.objects.filter(pk=endpoint.pk, secret_version=endpoint.secret_version).update(secret_proven=True)


def send_test(endpoint: Endpoint, *, now: datetime) -> Delivery:
    """Record a test event that only this endpoint receives. Return the delivery. Raises the errors of `redeliver`."""
    _publish_backlog(endpoint.account_id, now=now)
    with transaction.atomic():
        event_id = record_event(TEST, account_id=endpoint.account_id, now=now, endpoint_id=str(endpoint.pk))
        publish_in_transaction(endpoint.account_id, now=now)
        _lock_enabled(endpoint.pk)  # the feed must be locked before the endpoint
        return Delivery.objects.get(event_id=event_id, endpoint=endpoint)


def redeliver(delivery: Delivery, *, now: datetime) -> Delivery:
    """Queue a delivery's event again with the same `webhook-id`.

    Raises WebhookEndpointNotFound, and ValidationFailed if the endpoint is disabled.
    """
    with transaction.atomic():
        endpoint = _lock_enabled(delivery.endpoint_id)
        copied = {"account_id": delivery.account_id, "event_id": delivery.event_id, "event_type": delivery.event_type}
        return Delivery.objects.create(endpoint=endpoint, due_at=now, created_at=now, is_redelivery=True, **copied)


def _lock(endpoint_id: UUID) -> Endpoint:
    return first_or(Endpoint.objects.present().select_for_update().filter(pk=endpoint_id), WebhookEndpointNotFound)


def _lock_enabled(endpoint_id: UUID) -> Endpoint:
    endpoint = _lock(endpoint_id)
    if endpoint.status != ENABLED:
        raise ValidationFailed(
            "The endpoint is disabled. Enable it first.",
            details=[{"field": "status", "message": "The endpoint is disabled."}],
        )
    return endpoint


def end_endpoints(user_id: int, *, now: datetime) -> None:
    Endpoint.objects.filter(account=user_id, deleted_at__isnull=True).update(deleted_at=now)
