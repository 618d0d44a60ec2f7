"""The template tag for the label of the active time zone."""

from datetime import datetime

from django import template
from django.utils import timezone

from config.core import time_zones

register = template.Library()


@register.simple_tag
def zone_label(moment: datetime | None = None) -> str:
    """Return the label of the active time zone at an aware datetime. By default, `moment` is the current time."""
    return time_zones.zone_label(moment or timezone.now())
