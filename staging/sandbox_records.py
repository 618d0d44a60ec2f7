"""What of staging moves with an account's clock, and what goes when it is reset."""

from config.sandbox import reset, timers
from staging.models import Note, StagedItem


def register() -> None:
    timers.register_timer(StagedItem, "staged_at", owner="user")
    for model in (StagedItem, Note):
        reset.register_owned(model, "user_id")
