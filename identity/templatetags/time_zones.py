"""The label of the active time zone, and times in this zone, for templates."""

from datetime import datetime

from django import template
from django.utils import timezone

from config.core import time_zones

register = template.Library()


@register.simple_tag
def zone_label() -> str:
    """Return the label of the active time zone at the current time."""
    return time_zones.zone_label(timezone.now())


@register.filter
def in_zone(moment: datetime) -> str:
    """Format an aware datetime in the active time zone and language."""
    return time_zones.moment_in_words(timezone.localtime(moment))
