from config.sandbox.records import SandboxRecords, Timer
from staging.models import Note, StagedItem

RECORDS = SandboxRecords(
    timers=(Timer(StagedItem, ("staged_at",), ("user",)),), handed_over=((StagedItem, "user_id"), (Note, "user_id"))
)
