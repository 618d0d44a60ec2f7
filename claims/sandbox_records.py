from claims.models import Claim
from config.sandbox.clock import SandboxRecords, Timer

RECORDS = SandboxRecords(timers=(Timer(Claim, ("updated_at",), ("user",)),))
