"""The columns of deliveries and webhook endpoints with times that move with an account's sandbox clock."""

from config.sandbox.clock import Timer
from config.webhooks.models import Delivery, Endpoint

TIMERS = (
    Timer(Delivery, ("due_at", "created_at"), ("account",)),
    Timer(Endpoint, ("previous_secret_until", "failing_since"), ("account",)),
)
