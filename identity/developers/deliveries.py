"""Deliveries of webhooks in words."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.http import HttpRequest

from config.webhooks.endpoints import deliveries_of
from config.webhooks.events import event_body
from config.webhooks.models import (
    BY_OPERATOR,
    BY_OWNER,
    BY_RESET,
    DELIVERED,
    ENABLED,
    FAILING,
    GONE,
    PENDING,
    Delivery,
    Endpoint,
)
from identity.developers.base import credential_of, phrase_of

# Maps the error of an attempt to its text. With the error `status`, the page displays the status of the response
# instead.
ERRORS = {
    "status": "",
    "redirect": "redirects are not followed",
    "timeout": "no response within 15 s",
    "unresolvable": "the host name did not resolve",
    "connect": "the connection failed",
    "tls": "the TLS handshake failed, for example because of the certificate",
    "reset": "the connection was closed without a response",
    "bad_answer": "the response is not valid HTTP",
    "invalid_url": "the URL is not valid",
    "blocked_address": "the address of the host is not allowed",
    "blocked_port": "the port is not allowed",
    "endpoint_disabled": "the endpoint was disabled or deleted",
    "secret_unreadable": "the platform can't decrypt the secret",
    "internal": "the worker failed, not your receiver",
}
REASONS = {
    BY_OWNER: "disabled by you",
    BY_OPERATOR: "disabled by an operator",
    BY_RESET: "disabled by a password reset",
    GONE: "disabled because the receiver returned HTTP 410 Gone",
    FAILING: "disabled because every attempt failed for 5 days",
}
DELIVERIES_LOOKED_AT = 20


def attempt_text(attempt: dict[str, Any]) -> str:
    """Describe the outcome of an attempt: `HTTP 503 Service Unavailable`, or `no response within 15 s`."""
    status, error = attempt["status_code"], attempt["error"]
    words = ERRORS.get(error, error) if error else ""
    answer = "" if status is None else f"HTTP {status} {phrase_of(status)}".strip()
    return ": ".join(filter(None, (answer, words)))


def describe_delivery(delivery: Delivery) -> dict[str, Any]:
    """Return a delivery for the templates, with its body and with its attempts in words."""
    attempts = [
        {**attempt, "at": datetime.fromisoformat(attempt["at"]), "text": attempt_text(attempt)}
        for attempt in delivery.attempts
    ]
    return {
        "delivery": delivery,
        "body": event_body(delivery.event).decode(),
        "attempts": attempts,
        "last": attempts[-1] if attempts else None,
        "is_waiting": delivery.status == PENDING and not attempts,
        "is_delivered": delivery.status == DELIVERED,
    }


def last_failures(request: HttpRequest, endpoints: Iterable[Endpoint]) -> dict[Any, str]:
    """Map the id of each failing or disabled endpoint to its last failed attempt, in words."""
    failures = {}
    for endpoint in endpoints:
        if endpoint.status == ENABLED and endpoint.failing_since is None:
            continue
        own = deliveries_of(credential_of(request)).filter(endpoint=endpoint).order_by("-id")
        attempts = [attempt for sent in own[:DELIVERIES_LOOKED_AT] for attempt in sent.attempts if attempt["error"]]
        if attempts:
            failures[endpoint.pk] = attempt_text(max(attempts, key=lambda attempt: attempt["at"]))
    return failures
