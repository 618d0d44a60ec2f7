"""The times of deliveries and webhook endpoints that an account's sandbox clock moves."""

from config.sandbox.clock import Timer
from config.webhooks.models import Delivery, Endpoint

TIMERS = (
    Timer(Delivery, ("due_at", "created_at"), ("account",)),
    Timer(Endpoint, ("previous_secret_until", "failing_since"), ("account",)),
)
