from django import template

from config.backoffice import desks, html

register = template.Library()
register.simple_tag(html.chip)
register.simple_tag(html.moment)
register.simple_tag(html.document)
register.filter(desks.enters)
