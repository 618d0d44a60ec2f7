"""Dates and times on pages and in mails, with the label of their time zone."""

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext


def moment_in_words(local: datetime) -> str:
    """Format an aware datetime in its time zone and the active language: `February 19, 2028, 7:30 p.m. EST`."""
    # Translators: a day, and a time of day, as Django's `date` filter writes them.
    return f"{date_format(local, gettext('F j, Y'))}, {date_format(local, gettext('g:i a'))} {label_of(local)}"


def label_of(local: datetime) -> str:
    """Return the abbreviation of the time zone, or its UTC offset, such as `UTC-05:00`."""
    name = local.tzname() or ""
    return name if name.isalpha() else f"UTC{local:%z}"[:6] + ":" + f"{local:%z}"[3:5]


def zone_label(moment: datetime) -> str:
    """Return the label of the active time zone at an aware datetime, such as `EST` or `UTC-03:00`."""
    return label_of(timezone.localtime(moment))
