"""Format values as HTML for pages of the back office. All values are escaped."""

import json
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any

from babel import Locale
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.backoffice.consoles import rules, viewing
from config.core.currencies import amount_in_words, percent_in_words, to_units
from config.core.json_text import day_of, parse_rfc3339
from config.core.registration import declared

_LATE_SHARE = 0.7  # an age above this share of its deadline is displayed as late
NOTHING = "—"
# The values of these fields are identifiers in the code.
NAMED_VALUES = frozenset({
    "channel", "customer_segment", "day_count", "kind", "method", "outcome", "product_type", "regime", "status", "type",
    "way",
})  # fmt: skip
# Field titles contain these spellings.
_SPELLINGS = {
    "apr": "APR", "bic": "BIC", "doi": "DOI", "eu": "EU", "iban": "IBAN", "id": "ID", "ids": "IDs", "ip": "IP",
    "max": "maximum", "min": "minimum", "sha256": "SHA-256", "us": "US", "url": "URL",
}  # fmt: skip
TONES = {"good": ("confirmed",), "bad": ("void",), "wait": ("open",)}


def words(status: str) -> str:
    """Return a status in words. For `under_review`, this is "under review"."""
    return status.replace("_", " ")


def error_in_words(message: str) -> str:
    """Return an error message of the API without names of operations and fields, for users of the console."""
    message = re.sub(r" \(`[^`]*`\)", "", message)
    message = re.sub(r"`(?:GET|POST|PUT|PATCH|DELETE) [^`]*`", "the API", message)
    return re.sub(r"`([a-z_]+)`", lambda name: words(name[1]), message)


@cache
def _tones() -> dict[str, str]:
    """Return the color of each status. Raises ValueError if two apps declare different colors."""
    looks: dict[str, str] = {}
    for tone, statuses in declared("tones"):
        for status in statuses:
            if looks.setdefault(status.lower(), tone) != tone:
                raise ValueError(f"The status {status!r} looks {looks[status.lower()]!r} already, not {tone!r}.")
    return looks


def chip(status: str) -> SafeString:
    return format_html('<span class="chip chip-{}">{}</span>', _tones().get(status.lower(), "quiet"), words(status))


def moment(at: datetime | None) -> SafeString | str:
    """Format a UTC time to the minute. The tooltip and the `datetime` attribute contain more digits."""
    if at is None:
        return NOTHING
    short = at.isoformat(timespec="milliseconds")  # HTML allows at most 3 decimals
    return format_html('<time datetime="{}" title="{}">{}</time>', short, at.isoformat(), time_in_words(at))


def time_in_words(at: datetime) -> str:
    """Return a UTC time to the minute in the format of the back office."""
    return date_format(at, "DATETIME_FORMAT")


def day_in_words(day: date) -> str:
    return date_format(day, "DATE_FORMAT")


def duration(span: timedelta) -> str:
    """Format a duration in its largest unit: "4 days", "3 h", "12 min"."""
    seconds = max(0, int(span.total_seconds()))
    if seconds >= 86_400:
        days = seconds // 86_400
        return f"{days} day{'' if days == 1 else 's'}"
    return f"{seconds // 3600} h" if seconds >= 3600 else f"{seconds // 60} min"


def clock(span: timedelta, *, days: int) -> SafeString:
    """Format an age relative to a limit, as a bar and text: "26 days of 30", "3 h of 30 days", or "8 days late"."""
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
    """Return a JSON document as preformatted HTML. HTML is returned unchanged."""
    if value is None or isinstance(value, SafeString):
        return NOTHING if value is None else value
    return format_html('<pre class="document" tabindex="0">{}</pre>', json.dumps(value, indent=2, ensure_ascii=False))


def table(facts: Iterable[tuple[str, Any]]) -> SafeString | str:
    """Format names and values as a small table. Lists are joined by commas."""
    cells = [(name, spelled(value)) for name, value in facts]
    if not cells:
        return NOTHING
    return format_html(
        '<table class="terms">{}</table>', format_html_join("", "<tr><th>{}</th><td>{}</td></tr>", cells)
    )


def spelled(value: Any) -> Any:
    """Return a value in words: local dates and times, lists with commas, and objects as tables."""
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return format_html_join("", "{}", ((spelled(item),) for item in value))
    if isinstance(value, list):
        texts = [str(spelled(item)) for item in value]
        return (" " if all(text.endswith(".") for text in texts) else ", ").join(texts) or NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return details(value)
    return NOTHING if value is None else _text_in_words(value)


def _text_in_words(value: Any) -> Any:
    if isinstance(value, SafeString) or not isinstance(value, str):
        return value if isinstance(value, SafeString) else str(value)
    at, day = parse_rfc3339(value), day_of(value)
    if at is not None:
        return time_in_words(at)
    return value if day is None else day_in_words(day)


def title_of(name: str) -> str:
    """Return the title of a field. For `loan_amount_min_cents`, this is "Loan amount minimum"."""
    pieces = name.removesuffix("_cents").removesuffix("_percent").removesuffix("_at").replace("_", " ").split()
    if pieces[-1:] == ["months"] and len(pieces) > 1:
        # A number before the unit means a period: `inquiries_6_months` is "Inquiries in 6 months".
        pieces.insert(-2 if pieces[-2].isdigit() else -1, "in")
    text = " ".join(_SPELLINGS.get(piece, piece) for piece in pieces)
    return text[:1].upper() + text[1:]


def details(value: Any, currency: str | None = None) -> SafeString | str:
    """Return the fields of an object as a table in words. Other values are converted to words."""
    if isinstance(value, SafeString) or not isinstance(value, dict):
        return NOTHING if value in (None, [], "") else format_html("{}", spelled(value))
    return table(fields_in_words(value, currency))


def fields_in_words(value: dict[str, Any], currency: str | None = None) -> list[tuple[str, Any]]:
    """Return the title and the value in words of each field of an object."""
    currency = value.get("currency") or currency
    return [(title_of(name), _figure(name, part, currency)) for name, part in value.items()]


def _figure(name: str, value: Any, currency: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name.endswith("_cents") and value == int(value):
            has_currency = isinstance(currency, str)
            return amount_in_words(int(value), currency) if has_currency else f"{to_units(int(value), None):,}"
        if name.endswith("_percent"):
            return percent_in_words(f"{value:g}")
    if isinstance(value, str) and name in NAMED_VALUES:
        return words(value)
    if isinstance(value, str) and name in {"language", "country"}:
        names = Locale("en").languages if name == "language" else Locale("en").territories
        return names.get(value.partition("-")[0] if name == "language" else value, value)
    return value


def grid(rows: Iterable[Iterable[Any]], head: Iterable[str] = ()) -> SafeString | str:
    lines = [(format_html_join("", "<td>{}</td>", ((cell,) for cell in cells)),) for cells in rows]
    if not lines:
        return NOTHING
    names = format_html_join("", "<th>{}</th>", ((name,) for name in head))
    heading = format_html("<tr>{}</tr>", names) if names else ""
    return format_html('<table class="terms">{}{}</table>', heading, format_html_join("", "<tr>{}</tr>", lines))


def code(text: Any) -> SafeString | str:
    """Format an identifier or a digest in a monospaced font."""
    return format_html("<code>{}</code>", text) if text else NOTHING


def link(address: str, text: object) -> SafeString:
    return format_html('<a href="{}">{}</a>', address, text)


def change_address(kind: str, pk: Any) -> str:
    """Return the URL of a record's page. `kind` is `app_model`, and `pk` a key of any type."""
    return reverse(f"admin:{kind}_change", args=[quote(str(pk))])


def record_link(kind: str, pk: Any, text: object = None) -> SafeString | str:
    """Return a link to a record's page. `kind` is `app_model`. The default of `text` is the key.

    Members of lenders who may not open the page get the text without a link.
    """
    if pk is None:
        return NOTHING
    if viewing.get() is not None and kind.replace("_", ".", 1) not in rules():
        return format_html("{}", text or pk)
    return link(change_address(kind, pk), text or pk)


@cache
def without_link(opts: Any, name: str) -> Any:
    """Return a foreign key's column for a lender console: without a link if members may not open the page."""
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

    @admin.display(description=field.verbose_name, empty_value=NOTHING)
    def shown(record: Any) -> Any:
        return getattr(record, name) or NOTHING

    return shown


def column(
    show: Callable[[Any], SafeString | str], field: str, description: str, *, ordering: str | None = None
) -> Callable[[Any, Any], SafeString | str]:
    """Return an admin column that formats a field: `created = column(moment, "created_at", "created")`.

    The path of a related record's field contains a dot: `model.provider_id`.
    """

    @admin.display(description=description, ordering=ordering)
    def shown(_admin: Any, record: Any) -> SafeString | str:
        return show(attrgetter(field)(record))

    return shown
