from config.sandbox.clock import SandboxRecords, Timer
from staging.models import StagedItem

RECORDS = SandboxRecords(timers=(Timer(StagedItem, ("staged_at",), ("user",)),))
