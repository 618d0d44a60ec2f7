from config.sandbox.clock import Timer
from staging.models import StagedItem

TIMERS = (Timer(StagedItem, ("staged_at",), ("user",)),)
