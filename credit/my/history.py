"""The history on an application's page: the transitions, counteroffers, and requests for reconsideration."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from credit.core import deadlines
from credit.core.standing import OFFERED, of_status
from credit.models import Application, ApplicationHistory, Counteroffer
from credit.my.words import reason_in_words

# The history has other entries for accepted and superseded counteroffers: a transition, or the next counteroffer.
_ENDED = {
    Counteroffer.DECLINED: _("You declined the other terms"),
    Counteroffer.WITHDRAWN: _("The lender withdrew the other terms"),
    Counteroffer.EXPIRED: _("The other terms expired"),
}


def describe(
    application: Application, moves: Iterable[ApplicationHistory], requests: Iterable[Mapping[str, Any]]
) -> list[tuple[str, str, str]]:
    """Return the words, the time, and the reason of each event, newest first.

    `requests` are the requests for reconsideration. Another section has their reasons and answers.
    """
    zone = timezone.get_current_timezone_name()
    events = [(move.changed_at, str(of_status(move.status).words), reason_in_words(move)) for move in moves]
    events += _counteroffers(application)
    events += [(request["asked_at"], gettext("You requested reconsideration"), "") for request in requests]
    newest_first = sorted(events, key=lambda event: event[0], reverse=True)
    return [(words, deadlines.in_words(moment, zone), why) for moment, words, why in newest_first]


def _counteroffers(application: Application) -> Iterator[tuple[datetime, str, str]]:
    if not application.counteroffer_moves:
        return
    for offered in application.counteroffers.all():
        yield offered.offered_at, str(OFFERED.words), ""
        if offered.closed_at is not None and offered.outcome in _ENDED:
            yield offered.closed_at, str(_ENDED[offered.outcome]), ""
