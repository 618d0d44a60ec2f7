"""Fault points, at which a test can kill or stop the process: `fault_point("name")`.

Without its name in the environment variable `FAULT_POINT`, a fault point has no effect. `FAULT_POINT=name` kills the
process with SIGKILL. `FAULT_POINT=name:stop` stops the process with SIGSTOP. Commas separate several points.
`FAULT_CHANCE` is the probability of the fault, from 0 to 1 (default 1).
"""

import os
import random
import signal

from django.core.exceptions import ImproperlyConfigured

_POINTS = {
    part.partition(":")[0]: part.partition(":")[2] or "kill"
    for part in os.environ.get("FAULT_POINT", "").split(",")
    if part
}
try:
    _CHANCE = float(os.environ.get("FAULT_CHANCE", "1"))
except ValueError as error:
    raise ImproperlyConfigured("FAULT_CHANCE must be a number from 0 to 1.") from error
_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


def fault_point(name: str) -> None:
    if _POINTS and name in _POINTS and random.random() < _CHANCE:  # noqa: S311  not used for secrets
        os.kill(os.getpid(), _SIGNALS[_POINTS[name]])
