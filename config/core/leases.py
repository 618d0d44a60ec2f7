"""When a row's turn has come, also after the clock was set back.

Queues keep the moment at which a row may be taken next: the end of a lease, or of a wait. Both are bounded, so a moment
much further ahead than the bound was written while the clock was ahead, and waiting for it would be for nothing. Much
further: another process may have looked at its clock a little later than this one, and machines' clocks differ.
"""

from datetime import datetime, timedelta

from django.db.models import Q

SKEW_MAX = timedelta(minutes=1)


def due(field: str, *, now: datetime, within: timedelta) -> Q:
    """Select rows whose moment has come, or lies much further ahead than `within`, the longest that anybody waits."""
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + within + SKEW_MAX})


def is_due(moment: datetime, *, now: datetime, within: timedelta) -> bool:
    return moment <= now or moment > now + within + SKEW_MAX
