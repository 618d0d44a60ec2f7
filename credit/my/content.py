"""Display the content of an application: the offer, data, applicants, shared data, reports, and requested documents."""

import json
import re
from collections.abc import Iterator, Mapping
from copy import copy
from datetime import timedelta
from itertools import islice
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.core.currencies import number_in_words
from config.core.encryption import UnreadableSecret
from config.core.json_text import day_of
from credit.applications.services import IDLE_DAYS
from credit.core import deadlines, profile
from credit.core import machine as states
from credit.core.applicant_schema import PATHS, title_of_member, value_at
from credit.core.applicant_words import applicant_value
from credit.core.applicants import FIRST
from credit.core.due import OfferRequirements
from credit.core.facts import path_of
from credit.core.figures import Figures, date_in_words, money
from credit.core.report_summary import CURRENCY
from credit.core.translations import document_title, free_text, in_language, worded
from credit.documents.services import documents_of
from credit.models import Application, Correction, Offer, PartialApplicants, Report, RequestedDocument
from credit.models.reports import CREDIT, FAILED, FROZEN, INCOME, NO_FILE, RECEIVED, REQUESTED

Row = tuple[str, str]
Corrected = Mapping[tuple[str, ...], Any]  # the corrected values of an application's data by path
ROWS_MAX = 200  # a table of data without a schema has at most this many rows
_DEPTH_MAX = 4
_SEPARATED_FROM = 10_000  # smaller numbers can be years
_CENTS = "_cents"
# Default titles of fields that have the same meaning in all offers. A title in an offer overrides the default.
_TITLES = {
    "amount_cents": _("Amount"),
    "term_months": _("Number of months"),
    "income_cents": _("Income a year"),
    "monthly_income_cents": _("Monthly income"),
    "monthly_debt_cents": _("Monthly debt payments"),
    "purpose": _("Purpose"),
    # Names that scoring models often use for their inputs.
    "income": _("Income"),
    "debt_to_income": _("Debt to income"),
    "months_employed": _("Months employed"),
    "months_at_address": _("Months at address"),
    "home": pgettext_lazy("where a person lives", "Home"),
    "housing": _("Housing"),
    "credit_lines": _("Credit lines"),
    "missed_payments": _("Missed payments"),
    "inquiries": _("Inquiries"),
}
# These fields have default words for common values. The words in an offer override them.
_CHOSEN = frozenset({"purpose", "home", "housing"})
_CHOICES = {
    "household": _("Household"),
    "car": _("Car"),
    "medical": _("Medical costs"),
    "education": _("Education"),
    "moving": _("Moving"),
    "debt": _("Debt"),
    "debt_consolidation": _("Debt consolidation"),
    "rent": _("Rented"),
    "mortgage": _("Own, with a mortgage"),
    "own": _("Own"),
    "family": _("With the family"),
}
_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*", re.ASCII)
_REPORT_KINDS = {CREDIT: _("Credit report"), INCOME: _("Income report")}
_REPORT_STATUSES = {
    REQUESTED: _("Requested"),
    RECEIVED: _("Received"),
    NO_FILE: _("No file was found"),
    FROZEN: _("Your credit file is frozen"),
    FAILED: _("No report arrived"),
}
_REPORT_TITLES = {
    "income_monthly_cents": _("Monthly income"),
    "obligations_monthly_cents": _("Monthly debt payments"),
    "delinquencies_24_months": _("Late payments in 24 months"),
    "inquiries_6_months": _("Inquiries in 6 months"),
    "oldest_account_months": _("Months since the oldest account"),
}
SHARED = {
    "bank": _("Your linked bank accounts: balances and transactions"),
    "identity": _("Your identity check: its result and its date"),
}


def describe(application: Application) -> dict[str, Any]:
    """Return the template context of the sections that show an application's content."""
    tables = applicant_tables(application)
    known = {} if application.status == states.DRAFT else Correction.known_of(application.pk)
    corrected = {tuple(path_of(fact)): correction.value for fact, correction in known.items()}
    return {
        "loan": loan_rows(application, corrected),
        "data": data_rows(application, corrected),
        "applicants": tables,
        "is_erased": tables == [] and application.applicants_sha256 is not None,
        "shared": [str(SHARED.get(area, area)) for area in application.share],
        "reports": report_tables(application),
    }


def loan_rows(application: Application, corrected: Corrected) -> list[Row]:
    """Return the rows of the requested loan: the offer's name, the amount, and the term."""
    name = in_language(terms_of(application)).get("name") or gettext("Offer %s") % application.offer_id
    return [(gettext("Offer"), name), *figure_rows(application, corrected)]


def terms_of(application: Application) -> Mapping[str, Any]:
    """Return the pinned terms of the offer. Without pinned terms, return the current name, schema, and translations."""
    columns = ("name", "language", "translations", "application_schema")
    offers = Offer.objects.filter(pk=application.offer_id).values(*columns)
    return application.offer_snapshot or offers.first() or {}


def figure_rows(application: Application, corrected: Corrected | None = None) -> list[Row]:
    """Return the rows of the requested amount and term."""
    figures, rows = Figures(application.application_data), []
    for name, title in (("amount_cents", gettext("Amount")), ("term_months", gettext("Number of months"))):
        values = [getattr(figures, name), (corrected or {}).get((name,))]
        words = [value_in_words(name, value, application.shown_currency) for value in values if value is not None]
        if values[0] is not None:
            rows.append((title, mark_correction(*words)))
    return rows


def mark_correction(words: str, corrected: str = "") -> str:
    """Return the words for a value, followed by the words for its corrected value if it differs."""
    if corrected in {"", words}:
        return words
    return gettext("%(value)s · corrected to %(corrected)s") % {"value": words, "corrected": corrected}


def data_rows(application: Application, corrected: Corrected) -> list[Row]:
    """Return the rows of the applicant's data, without the amount and the term that `loan_rows` returns."""
    data, figures = application.application_data, Figures(application.application_data)
    if data is None:
        return []
    if not isinstance(data, dict):
        data = {"data": data}
    members = OfferRequirements.by(in_language(terms_of(application))).members
    in_loan = {name for name in ("amount_cents", "term_months") if getattr(figures, name) is not None}
    known = {name: data[name] for name in members if name in data}
    currency = application.shown_currency
    shown = {name: value for name, value in {**known, **data}.items() if name not in in_loan}
    rows = _rows(shown, members, currency, corrected)
    return list(islice(rows, ROWS_MAX))


def _rows(
    data: Mapping[str, Any],
    members: Mapping[str, Any],
    currency: str | None,
    corrected: Corrected,
    above: str = "",
    path: tuple[str, ...] = (),
) -> Iterator[Row]:
    for name, value in data.items():
        title = title_of(name, members.get(name, {}))
        title = f"{above}{title}" if above else title
        if isinstance(value, dict) and value and len(path) < _DEPTH_MAX:
            yield from _rows(value, {}, currency, corrected, f"{title}, ", (*path, name))
        elif value is not None:
            values = [part for part in (value, corrected.get((*path, name))) if part is not None]
            words = [choice_in_words(name, part, members.get(name, {}), currency) for part in values]
            yield title, mark_correction(*words)


def title_of(name: str, member: Mapping[str, Any]) -> str:
    """Return a field's title from the offer, the default title, or the field's name, in this order."""
    if "title" in member:
        return worded(member["title"])
    return str(_TITLES.get(name) or profile.title_of(name.removesuffix(_CENTS), {}))


def choice_in_words(name: str, value: Any, member: Mapping[str, Any], currency: str | None = None) -> str:
    """Return the words for a choice from the offer, the default words, or the formatted value, in this order."""
    words: str | None = member.get("choices", {}).get(str(value))
    if words is not None:
        return words
    is_choice = isinstance(value, str) and ("enum" in member or name in _CHOSEN)
    if not is_choice or _IDENTIFIER.fullmatch(value) is None:
        return value_in_words(name, value, currency)
    return str(_CHOICES.get(value.replace("-", "_")) or profile.title_of(value, {}))


def value_in_words(name: str, value: Any, currency: str | None = None) -> str:
    """Format a value for display. Amounts, dates, and booleans become text, and lists get commas."""
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    if isinstance(value, str):
        day = day_of(value)
        return value if day is None else date_in_words(day)
    if isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
        return ", ".join(value_in_words(name, part, currency) for part in value)
    if isinstance(value, int | float):
        if name.endswith(_CENTS) and float(value).is_integer():
            return money(int(value), currency)
        return _number_in_words(value, currency)
    return json.dumps(value, ensure_ascii=False)


def _number_in_words(value: float, currency: str | None) -> str:
    is_separated = abs(value) >= _SEPARATED_FROM
    if currency is not None and (is_separated or isinstance(value, float)):
        return number_in_words(value)
    return f"{value:,}" if is_separated else str(value)


def applicant_tables(application: Application) -> list[list[Row]] | None:
    """Return the rows of each applicant, or None if the applicants can't be decrypted.

    In a draft with only a second applicant, the first applicant has no rows.
    """
    try:
        persons = list(application.applicants or PartialApplicants.of(application))
    except UnreadableSecret:
        return None
    return [
        [
            (gettext(title_of_member(path)), applicant_value(path, value, value_at(person, "address.country")))
            for path in PATHS
            if person is not None and (value := value_at(person, path)) is not None
        ]
        for person in (persons[:1] if persons[1:] == [None] else persons)
    ]


def report_tables(application: Application) -> list[tuple[str, list[Row]]]:
    """Return a (title, rows) pair for each report about the first applicant, oldest first."""
    tables = []
    for report in Report.objects.filter(application=application, applicant=FIRST):
        summary = report.parsed_summary or {}
        agency, score = summary.get("agency") or {}, summary.get("score") or {}
        currency = summary.get("currency")
        rows: list[tuple[Any, Any]] = [
            (gettext("Status"), _REPORT_STATUSES[report.status]),
            (gettext("Requested by"), gettext("The lender")),
            (gettext("Supplied by"), ", ".join(filter(None, (agency.get("name"), agency.get("phone"))))),
            (gettext("Credit score"), score.get("value")),
            *(
                (title, value_in_words(name, summary.get(name), None if currency == CURRENCY else currency))
                for name, title in _REPORT_TITLES.items()
                if summary.get(name) is not None
            ),
        ]
        filled = [(str(name), str(value)) for name, value in rows if value not in {None, ""}]
        tables.append((f"{_REPORT_KINDS[report.kind]}, {date_in_words(report.requested_at.date())}", filled))
    return tables


def offer_to_read(offer: Offer) -> Offer:
    """Return a copy of an offer for display. Translated texts are in the active language."""
    shown, terms = copy(offer), in_language(offer.terms())
    for name in ("name", "description", "application_schema"):
        setattr(shown, name, terms[name])
    return shown


def offer_to_edit(application: Application) -> Offer | None:
    """Return the offer whose form can edit a draft, or None if no form can edit the draft.

    The form requires an active, listed offer, and data that is an object. The API can store other data.
    """
    is_draft = application.status == states.DRAFT and isinstance(application.application_data, dict | None)
    offers = Offer.objects.filter(pk=application.offer_id, provider=str(application.provider_id), is_active=True)
    return offers.select_related("provider").first() if is_draft else None


def checklist_of(application: Application) -> dict[str, Any]:
    """Return the template context of the section about requested documents. Missing documents are first.

    `due_by` is when the application expires, or empty if it can't expire.
    """
    zone, uploads = timezone.get_current_timezone_name(), application.status not in states.FROZEN
    documents: list[Any] = sorted(
        documents_of(application).prefetch_related("files__stored"),
        key=lambda document: document.status != RequestedDocument.REQUESTED,
    )
    terms = terms_of(application)
    for document in documents:
        document.title = document_title(terms, document.name, document.language)
        document.why = free_text(document.reason, terms, {"language": document.reason_language})
    missing = sum(document.status == RequestedDocument.REQUESTED for document in documents)
    days = IDLE_DAYS.get(application.status) if uploads else None
    due_by = "" if days is None else deadlines.in_words(application.updated_at + timedelta(days=days), zone)
    return {
        "documents": [
            (document, [(file, deadlines.in_words(file.received_at, zone)) for file in document.kept_files])
            for document in documents
        ],
        "missing": missing,
        "received": len(documents) - missing,
        "due_by": due_by,
        "uploads": uploads,
    }
