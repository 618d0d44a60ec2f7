from typing import Any

from django import template

from config.backoffice import consoles, html, people

register = template.Library()
register.simple_tag(html.chip)
register.simple_tag(html.moment)
register.simple_tag(html.details)
register.filter(html.words)
register.filter(people.person_name)
register.filter(consoles.enters)
register.filter(consoles.needs_second_factor)


@register.simple_tag
def chosen_filters(cl: Any) -> list[dict[str, str]]:
    """Return a list's active filters: title, value, and the query string without the filter.

    A filter with its first choice, "All", is inactive.
    """
    chosen = []
    for spec in cl.filter_specs:
        everything, *others = spec.choices(cl)
        chosen += [
            {"title": str(spec.title).capitalize(), "label": choice["display"], "without": everything["query_string"]}
            for choice in others
            if choice["selected"]
        ]
    return chosen
