from config.sandbox.records import SandboxRecords, Timer
from staging.models import StagedItem

RECORDS = SandboxRecords(timers=(Timer(StagedItem, ("staged_at",), ("user",)),))
