"""Explain a decision to the applicant: the role of the score, its inputs, and the smallest sufficient changes."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from config.core.currencies import number_in_words
from config.core.json_text import rfc3339
from credit.core import rights
from credit.core.applicants import language_of
from credit.core.card import Card, Characteristic, Input
from credit.core.facts import CATEGORIES, PERSON, SOURCES, category_of, has_person, source_of
from credit.core.figures import money
from credit.core.jurisdictions import Conventions
from credit.core.machine import DECIDED, REJECTED
from credit.core.reasons import reasons_of, text_of
from credit.core.rights import ALONE, APPROVAL, ASSISTED, DUTIES, NONE
from credit.core.translations import free_text
from credit.models import Application, Offer, Score
from credit.models.scoring import ModelVersion
from credit.scoring.changes import changes
from credit.scoring.corrections import correctable_facts
from credit.scoring.evaluator import Evaluation, evaluate
from credit.scoring.scores import LiveVersion, champion_of

_ROLES = {
    rights.NONE: _("No score was computed. People decide on the application."),
    rights.ASSISTED: _("A score was computed from your data. The score is a proposal to the person who decides."),
    rights.ALONE: _(
        "A score was computed from your data. The decision was made automatically from this score, without human "
        "review."
    ),
}
_WAITS = _("Your score is not computed yet, because the lender has requested reports about you.")
_DECIDERS = {
    None: _("The application is not decided."),
    rights.NONE: _("A reviewer of the lender decided."),
    rights.ASSISTED: _("A reviewer of the lender decided, with the score as a proposal."),
    rights.ALONE: _("The scoring model decided. No person took part."),
}
_PROCEDURE = _(
    "Each item below has points. With %(base)s base points, the total is %(total)s. The total determines the outcome: "
    "%(bands)s. The lender compares the points of each item with a fixed number. An item with fewer points can be a "
    "reason for the decision."
)
_WITHOUT_POINTS = _(
    "Each item below has points. The total determines the outcome: %(bands)s. The points are hidden, because the score "
    "used your other applications."
)
_POINTS = _("%(name)s: %(points)s points, of at most %(most)s. The lender compares them with %(baseline)s.")
# Names that lenders often give to characteristics. Other names stay in the lender's language.
_COMMON_NAMES = {
    _("income"), _("debt to income"), _("time in employment"), _("time at address"), _("home"), _("housing"),
    _("credit lines"), _("missed payments"), _("recent inquiries"),
}  # fmt: skip
_OUTCOMES = {"approve": _("approval"), "refer": _("decision by a person"), "decline": _("rejection")}
_FROM, _REST = _("%(outcome)s from %(bound)s points"), _("%(outcome)s for fewer")
_CHANGE = _("%(name)s: “%(to)s” instead of “%(now)s” (%(points)s more points)")
_LEADS = _("%(steps)s. Then the outcome is: %(outcome)s.")
_NONE_ENOUGH = _("No change of one or two items that you can change would have led to a better outcome.")
_REVIEWABLE = _("Request that a person who had no part in the decision reviews it.")
_CORRECTABLE = _("Report a wrong value. A reviewer corrects it, or states the reason for a refusal, within 30 days.")


def explain(application: Application, language: str | None = None) -> dict[str, Any]:
    """Explain the newest decision, or the current status, by default in the applicant's language.

    If the facts of the score are erased, `inputs` and `changes` are None. Facts about the applicant's other
    applications have no value. For a scorecard that reads such facts, the explanation has no result, points, or
    changes, because these could reveal the facts.
    """
    with translation.override(language or language_of(application.applicants)):
        return _explain(application)


def _explain(application: Application) -> dict[str, Any]:
    move = application.history.filter(status__in=DECIDED).order_by("-position").first()
    if application.status not in DECIDED and application.accepted_at is None:
        # The decision was reopened, so it is no longer the decision to explain.
        move = None
    moment = None if move is None else move.changed_at
    scores = Score.deciding(application.pk).select_related("version", "kept_facts")
    score = (scores if moment is None else scores.filter(created_at__lte=moment)).first()
    way, is_worse = rights.way_of(move, score), application.approves_worse
    outcome = None if move is None else rights.outcome_of(move.status, is_worse=is_worse)
    duty = rights.DUTIES[Conventions.of(application.offer_snapshot).jurisdiction, way, outcome or rights.APPROVAL]
    after = [*duty.after] if outcome else []
    reasons = reasons_of(move.metadata) if move is not None and move.status == REJECTED else []
    can_review = application.is_reconsiderable and application.open_review_request is None
    can_correct = bool(correctable_facts(application))
    ways_on = [text for text, is_open in ((_REVIEWABLE, can_review), (_CORRECTABLE, can_correct)) if is_open]
    return {
        "application_id": str(application.pk),
        "language": translation.get_language(),
        "automated": way,
        "outcome": outcome,
        "decided_at": None if move is None else rfc3339(move.changed_at),
        "decided_by": gettext(_DECIDERS[None if move is None else way]),
        "role": gettext(_WAITS if score is None and application.score_waits else _ROLES[way]),
        "reasons": [
            gettext(text_of(reason))
            if isinstance(reason, str)
            else free_text(text_of(reason), application.offer_snapshot, move and move.metadata)
            for reason in reasons
        ],
        **_score_parts(score, application.shown_currency),
        "can_do": [gettext(text) for text in ways_on],
        "rights": [{"text": gettext(right.text), "law": right.law} for right in after],
        "notice_days": duty.days if outcome else None,
    }


def _score_parts(score: Score | None, currency: str | None) -> dict[str, Any]:
    if score is None:
        return dict.fromkeys(("score", "procedure", "inputs", "changes"))
    card, kept = score.version.card, score.facts_if_kept
    evaluation = None if kept is None or score.is_withheld else evaluate(card, kept.values())
    total = None if score.is_withheld else score.total
    return {
        "score": {
            "total": total,
            "range": list(card.limits),
            "outcome": None if score.is_withheld else score.outcome,
            "scored_at": rfc3339(score.created_at),
            "model_id": score.version.model_id,
            "version": score.version.number,
            "reasons": [] if score.is_withheld else [gettext(text_of(reason)) for reason in score.reasons],
        },
        "procedure": _procedure(card, total),
        "inputs": None if kept is None else _inputs(card, score, kept.values(), currency),
        "changes": None if evaluation is None else _changes(card, evaluation, currency),
    }


def _procedure(card: Card, total: int | None) -> str:
    bands = [
        gettext(_REST if bound is None else _FROM) % {"outcome": gettext(_OUTCOMES[outcome]), "bound": bound}
        for outcome, bound in card.outcomes
    ]
    if total is None:
        return gettext(_WITHOUT_POINTS) % {"bands": ", ".join(bands)}
    return gettext(_PROCEDURE) % {"base": card.base_points, "total": total, "bands": ", ".join(bands)}


def _inputs(card: Card, score: Score, facts: Mapping[str, Any], currency: str | None) -> list[dict[str, Any]]:
    used = {fact["name"]: fact for fact in score.sources or ()}
    scored = {each.input: (each, row) for each, row in zip(card.characteristics, score.points, strict=True)}
    inputs = []
    for source in card.inputs:
        names = source.facts if has_person(source.facts) else source.used(facts)
        # Points could reveal facts that the applicant must not read.
        is_hidden = score.is_withheld or source.name not in scored
        points = None if is_hidden else _points(source, *scored[source.name], currency)
        inputs.append(
            {
                "name": source.name,
                "is_changeable": source.is_mutable,
                "facts": [_fact(name, facts[name], used.get(name, {})) for name in names],
                **(points or _NO_POINTS),
            }
        )
    return inputs


def _fact(name: str, value: Any, source: Mapping[str, Any]) -> dict[str, Any]:
    kind = source.get("source")
    return {
        "name": name,
        "value": None if name.startswith(PERSON) else value,
        "source": kind,
        "source_text": gettext(SOURCES[kind]) if kind in SOURCES else "",
        "as_of": source.get("as_of"),
    }


def _name_in_words(name: str) -> str:
    return gettext(name) if name in _COMMON_NAMES else name


_NO_POINTS = {"range": None, "points": None, "most": None, "baseline": None, "text": ""}


def _points(source: Input, characteristic: Characteristic, row: Sequence[Any], currency: str | None) -> dict[str, Any]:
    _name, position, points, baseline = row
    most = max(choice.points for choice in characteristic.bins)
    words = {"name": _name_in_words(characteristic.name), "points": points, "most": most, "baseline": baseline}
    return {
        "range": bin_in_words(source, characteristic, position, currency),
        "points": points,
        "most": most,
        "baseline": baseline,
        "text": gettext(_POINTS) % words,
    }


def bin_in_words(source: Input, characteristic: Characteristic, position: int, currency: str | None) -> str:
    """Format a bin of an input in the active language. `currency` is passed to `figures.money`."""

    def show(bound: Decimal | None) -> str:
        if bound is None:
            return ""
        if source.is_amount and bound == int(bound):
            return money(int(bound), currency)
        return str(bound) if currency is None else number_in_words(bound)

    choice = characteristic.bins[position]
    if choice.is_missing:
        return gettext("unknown")
    if choice.values is not None:
        values = sorted(gettext("yes") if value is True else str(value or gettext("no")) for value in choice.values)
        return ", ".join(values)
    lower = [each.below for each in characteristic.bins[:position] if each.below is not None]
    if choice.below is None:
        return gettext("%(lower)s or more") % {"lower": show(lower[-1])} if lower else gettext("another value")
    if not lower:
        return gettext("less than %(upper)s") % {"upper": show(choice.below)}
    return gettext("%(lower)s or more, but less than %(upper)s") % {
        "lower": show(lower[-1]),
        "upper": show(choice.below),
    }


def _changes(card: Card, evaluation: Evaluation, currency: str | None) -> list[str]:
    """Return a sentence for each smallest change that leads to a better outcome.

    If no change leads to a better outcome, returns one sentence with this fact, or no sentence for an approval.
    """
    sources = {each.name: each for each in card.inputs}
    by_name = {each.name: (sources[each.input], each) for each in card.characteristics}
    sentences = []
    for way in changes(card, evaluation):
        steps = [
            gettext(_CHANGE)
            % {
                "name": _name_in_words(step["characteristic"]),
                "to": bin_in_words(*by_name[step["characteristic"]], step["to_bin"], currency),
                "now": bin_in_words(*by_name[step["characteristic"]], step["from_bin"], currency),
                "points": step["points"],
            }
            for step in way["changes"]
        ]
        words = {"steps": "; ".join(steps), "outcome": gettext(_OUTCOMES[way["outcome"]])}
        sentences.append(gettext(_LEADS) % words)
    return sentences or ([] if evaluation.outcome == "approve" else [gettext(_NONE_ENOUGH)])


_REVIEWERS = {
    NONE: _("A person decides, without a score."),
    ASSISTED: _("A person decides. The score is a proposal to that person."),
    ALONE: _(
        "The score can approve or reject an application. A person decides all other applications, and reviews a "
        "decision on request."
    ),
}
_PROPOSES = _("The score proposes the decision on your application.")
_DECIDES = _("The score decides on your application, or refers it to a person.")
_HIDES = _("Apps that can read your scores don't list an offer if your last score for it was a rejection.")
_PRICES = _("The score sets the interest rate of your loan: the price is personalized by automated processing.")


def describe_automation(offer: Offer) -> dict[str, Any]:
    """Describe an offer's score in the active language: its purposes, its data, and the review of its decisions.

    The description is based on the published champion of the offer's model. Costs one query, or two with a model.
    """
    is_off = settings.DECISIONING == "off"
    version = None if is_off else champion_of(offer.blockscore_model_id, offer.provider_id)
    way = NONE if version is None else ALONE if settings.DECISIONING == "automatic" else ASSISTED
    duty = DUTIES[offer.conventions.jurisdiction, way, APPROVAL]
    facts = set() if version is None else set(version.card.facts)
    categories, sources = {category_of(name) for name in facts}, {source_of(name) for name in facts}
    return {
        "offer_id": str(offer.pk),
        "automated": way,
        "model_id": None if version is None else offer.blockscore_model_id,
        "version": None
        if version is None
        else ModelVersion.objects.values_list("number", flat=True).get(pk=version.id),
        "purposes": [] if version is None else _purposes(version, way),
        "categories": [{"code": code, "text": gettext(CATEGORIES[code])} for code in CATEGORIES if code in categories],
        "sources": [{"code": code, "text": gettext(SOURCES[code])} for code in SOURCES if code in sources],
        "reviewed_by": gettext(_REVIEWERS[way]),
        "before": [{"text": gettext(right.text), "law": right.law} for right in duty.before],
    }


def _purposes(version: LiveVersion, way: str) -> list[str]:
    purposes = [_DECIDES if way == ALONE else _PROPOSES, _HIDES, *([_PRICES] if version.card.prices else [])]
    return [gettext(purpose) for purpose in purposes]
