"""The filter for texts that a lender wrote."""

from django import template

from credit.core.translations import marked, marked_lines, worded

register = template.Library()
register.filter("marked", marked)
register.filter("worded", worded)
register.filter("marked_lines", marked_lines)
