"""The explanation of a decision in the browser, and the form that reports a wrong value."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language, gettext

from config.api.rate_limits import consume
from config.core.currencies import to_minor_units
from config.core.errors import ApiError, ValidationFailed
from config.core.figure_fields import AmountField, FigureField
from config.core.ids import get_by_uuid
from credit.core.facts import path_of
from credit.models import Application, DocumentFile
from credit.my.content import Row, title_of, value_in_words
from credit.my.pages import MyPage, actor_on, own_applications
from credit.my.words import said
from credit.scoring.corrections import (
    STATEMENT_MAX,
    correctable_facts,
    correctable_value,
    corrections_of,
    request_correction,
)
from credit.scoring.explanation import explain

_CLAIM_MAX, _NUMBER_MAX = 1_000, 10**12


class ExplanationPage(MyPage):
    """How the decision was made, which data the score used, and what the person can do."""

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        explanation = explain(application, (get_language() or "")[:2])
        inputs = [
            (title_of(each["name"], {}), each, _rows(each["facts"], application))
            for each in explanation["inputs"] or ()
        ]
        facts = {
            "application": application,
            "explained": explanation,
            "inputs": inputs,
            "correctable": [(name, _title(name)) for name in correctable_facts(application)],
            "corrections": corrections_of(application_id, actor_on(request)),
            "files": DocumentFile.objects.filter(
                document__application=application, stored__isnull=False, stored__deleted_at__isnull=True
            ),
        }
        return render(request, "credit/my/explanation.html", facts)

    def post(self, request: HttpRequest, application_id: str) -> HttpResponse:
        """Report a wrong value."""
        application = get_by_uuid(own_applications(request), application_id, Http404)
        try:
            consume("write", str(request.user.pk))
            _report(request, application)
        except ApiError as refusal:
            messages.error(request, said(refusal))
        else:
            messages.success(request, gettext("A reviewer answers within 30 days."))
        return redirect("my_explanation", application_id)


def _report(request: HttpRequest, application: Application) -> None:
    typed = {name: request.POST.get(name, "").strip() for name in ("fact", "claimed", "statement", "file")}
    if not 0 < len(typed["statement"]) <= STATEMENT_MAX or not 0 < len(typed["claimed"]) <= _CLAIM_MAX:
        raise ValidationFailed(gettext("Enter the right value, and why the other is wrong, at most 4,000 characters."))
    fact, before = typed["fact"], correctable_value(str(application.pk), typed["fact"])
    request_correction(
        str(application.pk),
        fact=fact,
        claimed=_read(fact, typed["claimed"], before, application.shown_currency),
        statement=typed["statement"],
        file=typed["file"] or None,
        actor=actor_on(request),
        now=timezone.now(),
    )


def _read(fact: str, text: str, before: Any, currency: str | None) -> Any:
    """Return the entered value in the type of the value that it corrects; amounts are entered in units."""
    if isinstance(before, bool):
        return text.casefold() in {"yes", "true", gettext("yes").casefold()}
    if not isinstance(before, int | float):
        return text
    is_amount = fact.endswith("_cents")
    limits: dict[str, Any] = {"min_value": -_NUMBER_MAX, "max_value": _NUMBER_MAX}
    field = AmountField(currency, **limits) if is_amount else FigureField(currency=currency, **limits)
    field.error_messages["invalid"] = gettext("Enter a number.")
    try:
        number = field.clean(text)
    except ValidationError as error:
        raise ValidationFailed(" ".join(error.messages)) from error
    number = to_minor_units(number, currency) if is_amount else number
    return int(number) if number == int(number) else float(number)


def _title(name: str) -> str:
    path = path_of(name)
    return title_of(path[-1], {}) if path else name


def _rows(facts: list[dict[str, Any]], application: Application) -> list[Row]:
    """Return each fact's name, and its value with source and day; withheld facts have no value."""
    return [
        (
            fact["name"],
            ", ".join(
                filter(None, (_value(fact, application), fact["source_text"].rstrip("."), fact["as_of"])),
            ),
        )
        for fact in facts
    ]


def _value(fact: dict[str, Any], application: Application) -> str:
    name, value = fact["name"], fact["value"]
    return "" if value is None else value_in_words(name, value, application.shown_currency)
