"""Labels of the time zone in which a page displays its dates."""

from datetime import datetime

from django.utils import timezone


def label_of(local: datetime) -> str:
    """Return the abbreviation of the time zone, or its UTC offset, such as `UTC-05:00`."""
    name = local.tzname() or ""
    return name if name.isalpha() else f"UTC{local:%z}"[:6] + ":" + f"{local:%z}"[3:5]


def zone_label(moment: datetime) -> str:
    """Return the label of the active time zone at an aware datetime, such as `EST` or `UTC-03:00`."""
    return label_of(timezone.localtime(moment))
