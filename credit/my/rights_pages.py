"""The page that explains a decision, with the form that reports a wrong value."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.api.rate_limits import consume
from config.core.currencies import to_minor_units
from config.core.encryption import readable
from config.core.errors import ApiError, ValidationFailed
from config.core.figure_fields import AmountField, FigureField
from config.core.ids import get_by_uuid
from config.core.json_text import day_of
from credit.core import deadlines
from credit.core.facts import APPLICANT, BANK, CORRECTED, path_of
from credit.core.figures import date_in_words
from credit.core.profile import members_of
from credit.core.translations import active_language, free_text, in_language
from credit.models import Application, Correction, DocumentFile
from credit.my.content import Row, choice_in_words, mark_correction, title_of, value_in_words
from credit.my.pages import MyPage, actor_on, own_applications
from credit.my.words import error_message, read_lines
from credit.scoring import corrections
from credit.scoring.explanation import explain

_CLAIM_MAX, _NUMBER_MAX = 1_000, 10**12


class ExplanationPage(MyPage):
    """The explanation of a decision: how the decision was made, the data of the score, and the applicant's rights."""

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        return self._page(request, get_by_uuid(own_applications(request), application_id, Http404))

    def _page(
        self,
        request: HttpRequest,
        application: Application,
        typed: Mapping[str, str] | None = None,
        wrong: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """Return the page. `typed` has the fields of a rejected report, and `wrong` describes its invalid field."""
        explanation = explain(application, active_language())
        reported = corrections.corrections_of(str(application.pk), actor_on(request)).select_related("score")
        later = _corrected_after(explanation, reported)
        inputs = [
            (title_of(each["name"], {}), _points_in_words(each), _rows(each["facts"], application, later))
            for each in explanation["inputs"] or ()
        ]
        facts = {
            "application": application,
            "explained": explanation,
            "laws": _laws_in_words(right["law"] for right in explanation["rights"]),
            "inputs": inputs,
            "earlier_values": _words_about_new_score(later) if later else "",
            "correctable": _correctable(application),
            "corrections": [_describe_correction(row, application) for row in reported],
            "files": DocumentFile.uploaded_for(application),
            "typed": typed or {},
            "wrong": wrong,
        }
        return render(request, "credit/my/explanation.html", facts, status=200 if typed is None else 400)

    def post(self, request: HttpRequest, application_id: str) -> HttpResponse:
        """Store the report of a wrong value. If the report is rejected, the form contains the entered values again."""
        application = get_by_uuid(own_applications(request), application_id, Http404)
        typed = {name: read_lines(request.POST.get(name, "")) for name in ("fact", "claimed", "statement", "file")}
        try:
            consume("write", str(request.user.pk))
            messages.success(request, _report(request, application, typed))
        except _WrongField as refusal:
            title = {"claimed": gettext("The right value"), "statement": gettext("Why is it wrong?")}[refusal.field]
            wrong = {"id": refusal.field, "title": title, "text": error_message(refusal)}
            return self._page(request, application, typed, wrong)
        except ApiError as refusal:
            messages.error(request, error_message(refusal))
            return self._page(request, application, typed)
        return redirect("my_explanation", application_id)


def _corrected_after(explanation: Mapping[str, Any], reported: Iterable[Correction]) -> dict[str, Correction]:
    """Return the newest correction of each fact that was corrected after the explained score had used the fact."""
    if explanation["score"] is None:
        return {}
    scored_at = datetime.fromisoformat(explanation["score"]["scored_at"])
    used = {fact["name"] for each in explanation["inputs"] or () for fact in each["facts"]}
    rows = [row for row in reported if row.status == Correction.CORRECTED and row.fact in used]
    later = [(row.closed_at, row) for row in rows if row.closed_at is not None and row.closed_at > scored_at]
    return {row.fact: row for _closed_at, row in sorted(later, key=lambda pair: pair[0])}


def _words_about_new_score(later: Mapping[str, Correction]) -> str:
    """Return a sentence about the score of the earlier values, and the newest score of the corrected values, if any."""
    words = gettext("This score used the values before the correction.")
    scores = [row.score for row in later.values() if row.score is not None and not row.score.is_withheld]
    if not scores:
        return words
    newest = max(scores, key=lambda score: score.number)
    return f"{words} " + gettext("The score of the corrected values is %(total)s.") % {"total": newest.total}


def _points_in_words(each: Mapping[str, Any]) -> str:
    """Return a sentence about the points of an input. The heading above the sentence has the name of the input."""
    if each["points"] is None:
        return ""
    return gettext("%(points)s points, of at most %(most)s. The lender compares them with %(baseline)s.") % each


def _describe_correction(row: Correction, application: Application) -> dict[str, Any]:
    """Return the template context of a correction. Its texts are empty after an erasure."""
    return {
        "status": row.status,
        "title": _title(row.fact, application),
        "claimed": _in_words(row.fact, row.parsed_claim, application),
        "statement": readable(lambda: row.statement) or "",
        "requested_at": row.requested_at,
        "due": deadlines.in_words(row.due_at, timezone.get_current_timezone_name()),
        "closed_at": row.closed_at,
        "why": free_text(row.reason or "", application.offer_snapshot, {"language": row.reason_language}),
    }


class _WrongField(ValidationFailed):
    """An error in a field of the applicant's report. The page shows the error at this field."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


def _report(request: HttpRequest, application: Application, typed: Mapping[str, str]) -> str:
    if not 0 < len(typed["claimed"]) <= _CLAIM_MAX:
        raise _WrongField("claimed", gettext("Enter the right value, at most 1,000 characters."))
    if not 0 < len(typed["statement"]) <= corrections.STATEMENT_MAX:
        raise _WrongField("statement", gettext("Enter why the value is wrong, at most 4,000 characters."))
    fact, before = typed["fact"], corrections.correctable_value(str(application.pk), typed["fact"])
    corrections.request_correction(
        str(application.pk),
        fact=fact,
        claimed=_read(fact, typed["claimed"], before, application.shown_currency),
        statement=typed["statement"],
        file=typed["file"] or None,
        actor=actor_on(request),
        now=timezone.now(),
    )
    return gettext("A reviewer answers within 30 days.")


def _read(fact: str, text: str, before: Any, currency: str | None) -> Any:
    """Parse the entered value with the type of the current value. Amounts are entered in currency units."""
    if isinstance(before, bool):
        return text.casefold() in {"yes", "true", gettext("yes").casefold()}
    if not isinstance(before, int | float):
        return text
    is_amount = fact.endswith("_cents")
    limits: dict[str, Any] = {"min_value": -_NUMBER_MAX, "max_value": _NUMBER_MAX}
    field = AmountField(currency, **limits) if is_amount else FigureField(currency=currency, **limits)
    field.error_messages |= {
        "invalid": gettext("Enter a number."),
        "min_value": gettext("Enter at least %s.") % value_in_words("", -_NUMBER_MAX, currency),
        "max_value": gettext("Enter at most %s.") % value_in_words("", _NUMBER_MAX, currency),
    }
    try:
        number = field.clean(text)
    except ValidationError as error:
        raise _WrongField("claimed", " ".join(error.messages)) from error
    number = to_minor_units(number, currency) if is_amount else number
    return int(number) if number == int(number) else float(number)


# The titles of the facts in `credit.core.facts.catalogue`. Facts that begin with `person.` have other titles.
_TITLES = {
    "account.age_days": _("Age of the account in days"),
    "applications.in_90_days": _("Applications in 90 days"),
    "bank.accounts_balance_cents": _("Balance of your bank accounts"),
    "bank.as_of": _("Day of the bank data"),
    "bank.income_monthly_cents": _("Monthly income, from your bank accounts"),
    "bank.linked": _("A bank is linked"),
    "bank.lowest_balance_cents": _("Lowest balance in 90 days"),
    "bank.months_covered": _("Months of bank data"),
    "bank.overdrawn_days_90": _("Overdrawn days in 90 days"),
    "bank.spending_monthly_cents": _("Monthly spending, from your bank accounts"),
    "identity.name_match": _("Comparison of your name"),
    "identity.verified": _("Identity verified"),
    "identity.verified_days_ago": _("Days since your identity was verified"),
    "report.as_of": _("Day of the credit report"),
    "report.delinquencies_24_months": _("Late payments in 24 months"),
    "report.income_monthly_cents": _("Monthly income, from the income report"),
    "report.inquiries_6_months": _("Inquiries in 6 months"),
    "report.obligations_monthly_cents": _("Monthly debt payments, from the credit report"),
    "report.oldest_account_months": _("Months since the oldest account"),
    "report.score": _("Credit score"),
    "report.status": _("Status of the credit report"),
}


_LAWS = {"CCD2": _("Directive (EU) 2023/2225"), "GDPR": _("GDPR"), "AI Act": _("AI Act")}


def _laws_in_words(citations: Iterable[str]) -> str:
    """Return the citations of several rights as one text, without repetitions."""
    laws = "; ".join(dict.fromkeys(law for citation in citations for law in citation.split("; ")))
    for name, words in _LAWS.items():
        laws = laws.replace(name, str(words))
    return laws


# The sources whose texts in `credit.core.facts` are about the applicant in the third person.
_SOURCES = {
    APPLICANT: _("You stated it in the application."),
    BANK: _("Your bank reported it, and you approved it."),
    CORRECTED: _("You reported an error, and a reviewer corrected it."),
}


def _title(name: str, application: Application) -> str:
    path = path_of(name)
    return title_of(path[-1], _member(path, application)) if path else str(_TITLES.get(name, name))


def _member(path: Sequence[str], application: Application) -> Mapping[str, Any]:
    """Return the schema of a field of the application, with the texts in the active language."""
    schema = in_language(application.offer_snapshot or {}).get("application_schema")
    member: Mapping[str, Any] = members_of(schema).get(path[0], {}) if len(path) == 1 else {}
    return member


def _day(as_of: str | None) -> str | None:
    day = None if as_of is None else day_of(as_of)
    return as_of if day is None else date_in_words(day)


def _rows(facts: list[dict[str, Any]], application: Application, later: Mapping[str, Correction]) -> list[Row]:
    """Return a row for each fact, with its title, value, source, and date. Withheld facts have no value.

    If `later` has a correction of the fact, the row also has the corrected value.
    """
    rows = []
    for fact in facts:
        value = _in_words(fact["name"], fact["value"], application)
        if fact["name"] in later:
            value = mark_correction(value, _in_words(fact["name"], later[fact["name"]].parsed_claim, application))
        source = str(_SOURCES.get(fact["source"], fact["source_text"])).rstrip(".")
        about = " · ".join(filter(None, (value, source, _day(fact["as_of"]))))
        rows.append((_title(fact["name"], application), about))
    return rows


def _in_words(name: str, value: Any, application: Application) -> str:
    if value is None:
        return ""
    path = path_of(name)
    if not path:
        return value_in_words(name, value, application.shown_currency)
    return choice_in_words(path[-1], value, _member(path, application), application.shown_currency)


def _correctable(application: Application) -> list[tuple[str, str, str]]:
    """Return each correctable fact's name and title, and its current value if the applicant stated the value."""
    claims = corrections.current_claims(application)
    names = corrections.correctable_facts(application)
    return [(name, _title(name, application), _in_words(name, claims.get(name), application)) for name in names]
