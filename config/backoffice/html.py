"""Small pieces of HTML for lists and pages of the back office. These functions escape all values."""

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.template.defaultfilters import date as format_date
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.backoffice.consoles import rules, viewing
from config.core.registration import declared

_LATE_SHARE = 0.7  # share of a deadline after which the age is displayed as late
NOTHING = "—"
TONES = {"good": ("confirmed",), "bad": ("void",), "wait": ("open",)}


def words(status: str) -> str:
    """Return a status in words: `under_review` is "under review"."""
    return status.replace("_", " ")


@cache
def _tones() -> dict[str, str]:
    """Return the color of each status, the same on every page; raises ValueError if two apps differ."""
    looks: dict[str, str] = {}
    for tone, statuses in declared("tones"):
        for status in statuses:
            if looks.setdefault(status.lower(), tone) != tone:
                raise ValueError(f"The status {status!r} looks {looks[status.lower()]!r} already, not {tone!r}.")
    return looks


def chip(status: str) -> SafeString:
    return format_html('<span class="chip chip-{}">{}</span>', _tones().get(status.lower(), "quiet"), words(status))


def moment(at: datetime | None) -> SafeString | str:
    """Return a UTC time to the minute; the tooltip and the `datetime` attribute are more precise."""
    if at is None:
        return NOTHING
    short = at.isoformat(timespec="milliseconds")  # HTML allows at most 3 decimals
    return format_html('<time datetime="{}" title="{}">{}</time>', short, at.isoformat(), format_date(at, "Y-m-d H:i"))


def duration(span: timedelta) -> str:
    """Return a length of time in its largest unit: "4 days", "3 h", "12 min"."""
    seconds = max(0, int(span.total_seconds()))
    if seconds >= 86_400:
        days = seconds // 86_400
        return f"{days} day{'' if days == 1 else 's'}"
    return f"{seconds // 3600} h" if seconds >= 3600 else f"{seconds // 60} min"


def clock(span: timedelta, *, days: int) -> SafeString:
    """Return an age relative to a limit as a bar and text: "26 days of 30", "3 h of 30 days", or "8 days late"."""
    limit = timedelta(days=days)
    used = span / limit
    bound = f"{days}" if span >= timedelta(days=1) else f"{days} days"
    text = f"{duration(span - limit)} late" if used >= 1 else f"{duration(span)} of {bound}"
    return format_html(
        '<span class="clock clock-{}"><meter min="0" low="{}" high="{}" optimum="0" max="{}" value="{}" '
        'aria-hidden="true"></meter> {}</span>',
        "over" if used >= 1 else "late" if used >= _LATE_SHARE else "fine",
        f"{days * _LATE_SHARE:g}",
        days - 1,
        days,
        f"{min(span.total_seconds() / 86_400, days):.2f}",
        text,
    )


def document(value: Any) -> SafeString | str:
    """Return a JSON document as formatted HTML; HTML is returned unchanged."""
    if value is None or isinstance(value, SafeString):
        return NOTHING if value is None else value
    return format_html('<pre class="document" tabindex="0">{}</pre>', json.dumps(value, indent=2, ensure_ascii=False))


def table(facts: Iterable[tuple[str, Any]]) -> SafeString | str:
    """Return names and values as a small table; lists are joined by commas."""
    cells = [(name, spelled(value)) for name, value in facts]
    if not cells:
        return NOTHING
    return format_html(
        '<table class="terms">{}</table>', format_html_join("", "<tr><th>{}</th><td>{}</td></tr>", cells)
    )


def spelled(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def grid(rows: Iterable[Iterable[Any]], head: Iterable[str] = ()) -> SafeString | str:
    lines = [(format_html_join("", "<td>{}</td>", ((cell,) for cell in cells)),) for cells in rows]
    if not lines:
        return NOTHING
    names = format_html_join("", "<th>{}</th>", ((name,) for name in head))
    heading = format_html("<tr>{}</tr>", names) if names else ""
    return format_html('<table class="terms">{}{}</table>', heading, format_html_join("", "<tr>{}</tr>", lines))


def code(text: Any) -> SafeString | str:
    """Return an identifier or a digest in a monospaced font."""
    return format_html("<code>{}</code>", text) if text else NOTHING


def link(address: str, text: object) -> SafeString:
    return format_html('<a href="{}">{}</a>', address, text)


def change_address(kind: str, pk: Any) -> str:
    """Return the URL of a record's page for any type of key; `kind` is `app_model`."""
    return reverse(f"admin:{kind}_change", args=[quote(str(pk))])


def record_link(kind: str, pk: Any, text: object = None) -> SafeString | str:
    """Return a link to a record's page; the default of `text` is the key; `kind` is `app_model`.

    Members of lenders get only the text if they may not open the page.
    """
    if pk is None:
        return NOTHING
    if viewing.get() is not None and kind.replace("_", ".", 1) not in rules():
        return format_html("{}", text or pk)
    return link(change_address(kind, pk), text or pk)


@cache
def without_link(opts: Any, name: str) -> Any:
    """Return the column of a field for a lender console, without a link to a page that members may not open."""
    field = next(
        (
            concrete_field
            for concrete_field in opts.concrete_fields
            if concrete_field.name == name and concrete_field.is_relation
        ),
        None,
    )
    if field is None or field.related_model._meta.label_lower in rules():
        return name

    @admin.display(description=field.verbose_name, empty_value="-")
    def shown(record: Any) -> Any:
        return getattr(record, name)

    return shown


def column(
    show: Callable[[Any], SafeString | str], field: str, description: str, *, ordering: str | None = None
) -> Callable[[Any, Any], SafeString | str]:
    """Return an admin column that formats a field: `created = column(moment, "created_at", "created")`.

    The path of a related record's field has a dot: `model.provider_id`.
    """

    @admin.display(description=description, ordering=ordering)
    def shown(_admin: Any, record: Any) -> SafeString | str:
        return show(attrgetter(field)(record))

    return shown
