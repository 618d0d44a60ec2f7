"""The payments of a loan for display, in the active language."""

from collections.abc import Sequence
from datetime import date

from django.utils.formats import date_format
from django.utils.translation import gettext

from credit.core.apr import in_month, month_of
from credit.core.figures import money
from credit.core.quotes import Instalment


def months_in_words(months: int) -> str:
    return gettext("1 month") if months == 1 else gettext("%s months") % months


def duration_in_words(months: int | None, schedule: Sequence[Instalment], *, start: date) -> str:
    """Return the duration of a loan that starts on `start`; `months` is None for a line of credit.

    The duration is `months` only if the loan ends with them. A first payment on another day, and a small loan, change
    the end.
    """
    if months is None:
        return gettext("Open-end")
    ends_on = schedule[-1].due_on
    if ends_on == in_month(month_of(start) + months, start.day):
        return months_in_words(months)
    days = (ends_on - start).days
    until = gettext("1 day, until %(day)s") if days == 1 else gettext("%(days)s days, until %(day)s")
    return until % {"days": days, "day": date_format(ends_on, gettext("F j, Y"))}


def payments_in_words(schedule: Sequence[Instalment], currency: str) -> str:
    """Return the amount, the number, and the first day of the payments of a loan."""
    first, last = schedule[0], schedule[-1]
    words = (
        gettext("One payment of %(level)s, due on %(first_day)s.")
        if len(schedule) == 1
        else gettext(
            "%(number)s monthly payments of %(level)s, the last one of %(last)s. The first is due on %(first_day)s."
        )
    )
    return words % {
        "number": len(schedule),
        "level": money(first.payment_cents, currency),
        "last": money(last.payment_cents, currency),
        "first_day": date_format(first.due_on, gettext("F j, Y")),
    }
