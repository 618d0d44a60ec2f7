"""The explanation of a decision in the browser."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language

from config.core.ids import get_by_uuid
from credit.my.content import Row, value_in_words
from credit.my.pages import MyPage, own_applications
from credit.scoring.explanation import explain


class ExplanationPage(MyPage):
    """How the decision was made, what the score used, and what the person can do."""

    def get(self, request: HttpRequest, application_id: str) -> HttpResponse:
        application = get_by_uuid(own_applications(request), application_id, Http404)
        explanation = explain(application, (get_language() or "")[:2])
        inputs = [(each, _rows(each["facts"])) for each in explanation["inputs"] or ()]
        facts = {"application": application, "explained": explanation, "inputs": inputs}
        return render(request, "credit/my/explanation.html", facts)


def _rows(facts: list[dict[str, Any]]) -> list[Row]:
    """Return the name, and the value with its source and day, of each fact; a withheld one has no value."""
    return [
        (
            fact["name"],
            ", ".join(
                filter(None, (_value(fact), fact["source_text"].rstrip("."), fact["as_of"])),
            ),
        )
        for fact in facts
    ]


def _value(fact: dict[str, Any]) -> str:
    return "" if fact["value"] is None else value_in_words(fact["name"], fact["value"])
