"""How long the law requires records of an application to be kept: the grounds, as data."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Ground:
    """A law that requires records to be kept for `months` from an event: `notice`, `acceptance`, or `score`."""

    name: str
    law: str
    months: int
    since: str

    @property
    def period(self) -> timedelta:
        return timedelta(days=31 * self.months)  # the longest that so many months are


NOTICE, ACCEPTANCE, SCORE = "notice", "acceptance", "score"
# Business credit needs 12 months by the same section; the longer period covers it.
REGULATION_B = Ground("regulation_b", "12 CFR 1002.12(b)(1)", 25, NOTICE)
REGULATION_Z = Ground("regulation_z", "12 CFR 1026.25(a)", 24, ACCEPTANCE)
COLORADO = Ground("colorado", "Colorado SB 26-189", 36, SCORE)
GROUNDS = (REGULATION_B, REGULATION_Z, COLORADO)
