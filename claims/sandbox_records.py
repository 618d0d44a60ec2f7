from claims.models import Claim
from config.sandbox.records import SandboxRecords, Timer

RECORDS = SandboxRecords(timers=(Timer(Claim, ("updated_at",), ("user",)),))
