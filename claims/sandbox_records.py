from claims.models import Claim
from config.sandbox.clock import Timer

TIMERS = (Timer(Claim, ("updated_at",), ("user",)),)
