"""JPMML confirms the points and the stated changes in explanations of random scorecards.

`EXPLANATIONS=300` sets the number of applications. Each explanation is read in three languages.
"""

import os
from random import Random

import pytest
from django.db import transaction
from django.utils import translation

from config.core.errors import ApiError
from credit.core.card import Card
from credit.scoring import pmml
from credit.scoring.changes import changes
from credit.scoring.evaluator import evaluate
from credit.scoring.explanation import bin_in_words
from tests.api import client_of
from tests.credit.notices.world import World
from tests.credit.scoring import pairs
from tests.credit.scoring.making import make_model, make_version
from tests.system.credit.scoring.evidence import nested, offer_of
from tests.system.credit.scoring.jpmml import WHY_NOT

pytestmark = [pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT), pytest.mark.django_db]
EXPLANATIONS = int(os.environ.get("EXPLANATIONS", "4"))
PER_CARD = 4
RANKS = ("decline", "refer", "approve")
# The words for the outcomes in the three languages of explanations.
OUTCOMES = {
    "en": {"approve": "approval", "refer": "decision by a person"},
    "es": {"approve": "aprobación", "refer": "decisión de una persona"},
    "de": {"approve": "Bewilligung", "refer": "Entscheidung durch eine Person"},
}


def published(chance):
    """Publish a random scorecard without date inputs; return version, definition, and samples."""
    while True:
        definition, samples = pairs.card(chance, reasons=[code for code in pairs.CODES if isinstance(code, str)])
        if any("months_since" in source for source in definition["inputs"]):
            continue
        for scored in definition["characteristics"]:
            scored["baseline"] = max(choice["points"] for choice in scored["bins"])
        rules = {"knockouts": [], "segments": [], "range": [-10_000, 10_000]}
        try:
            with transaction.atomic():
                return make_version(make_model(), role="champion", **{**definition, **rules}), definition, samples
        except ApiError:
            continue  # the platform rejects scorecards that can decline without a reason


def submitted(offer, samples, chance):
    """Submit an application with random samples; return it, and the sample of each characteristic."""
    world = World(offer)
    while True:
        chosen = [chance.choice(own) for own in samples]
        application = world.application
        facts = {name: value for facts, _ in chosen for name, value in facts.items()}
        application.application_data = {**nested(facts), "amount_cents": 500_000}
        application.save()
        try:
            world.move(0, "submitted", by=world.consumer)
        except ApiError:
            continue  # a sample has a value of another type
        return world, chosen


def joined(chosen):
    """Merge samples; return the facts, and the fields for JPMML."""
    return tuple({name: value for item in chosen for name, value in item[part].items()} for part in (0, 1))


def moved(card, chosen, samples, way):
    """Return the samples after a stated change, or None if a stated bin has no sample."""
    result = list(chosen)
    names = [each.name for each in card.characteristics]
    for step in way["changes"]:
        at = names.index(step["characteristic"])
        there = (item for item in samples[at] if evaluate(card, joined([item])[0]).points[at].bin == step["to_bin"])
        if (sample := next(there, None)) is None:
            return None
        result[at] = sample
    return result


def outcome_of(card, total, facts):
    """Return the outcome for JPMML's total. If a value is missing, the outcome is `refer` instead of `approve`."""
    outcome = card.outcome_of(total)
    return "refer" if outcome == "approve" and evaluate(card, facts).missing else outcome


@pytest.mark.timeout(300 + EXPLANATIONS * 10)
def test_points_and_outcomes_in_explanations_equal_the_jpmml_results(engine, settings, no_rate_limits):
    settings.DECISIONING = "assist"
    chance, stated, applications = Random(3103), 0, 0
    while applications < EXPLANATIONS:
        version, definition, samples = published(chance)
        offer, card = offer_of(version), Card.of(version.definition)
        document = pmml.write(version.definition, name="random")
        for _ in range(PER_CARD):
            world, chosen = submitted(offer, samples, chance)
            facts, fields = joined(chosen)
            ways = changes(card, evaluate(card, facts))
            moved_by_way = [(way, moved(card, chosen, samples, way)) for way in ways]
            moved_by_way = [(way, other) for way, other in moved_by_way if other is not None]
            rows = [fields, *(joined(other)[1] for _, other in moved_by_way)]
            (total, _), *others = engine.compute(document, rows)
            before = outcome_of(card, total, facts)
            for language, words in OUTCOMES.items():
                path = f"/applications/{world.pk}/explanation?language={language}"
                body = client_of(world.consumer.user).read(path).json()
                points = [each["points"] for each in body["inputs"] if each["points"] is not None]
                assert card.base_points + sum(points) == total == body["score"]["total"], definition
                assert body["score"]["outcome"] == before
                sentences = dict(zip((id(way) for way in ways), body["changes"], strict=False))
                for (way, other), (after, _) in zip(moved_by_way, others, strict=True):
                    outcome = outcome_of(card, after, joined(other)[0])
                    assert outcome == way["outcome"], (definition, fields)
                    assert RANKS.index(outcome) > RANKS.index(before)
                    sentence = sentences[id(way)]
                    assert sentence.endswith(f"{words[outcome]}."), sentence
                    with translation.override(language):
                        sources = {each.name: each for each in card.inputs}
                        by_name = {each.name: (sources[each.input], each) for each in card.characteristics}
                        for step in way["changes"]:
                            to = bin_in_words(*by_name[step["characteristic"]], step["to_bin"], None)
                            assert f"{step['characteristic']}: " in sentence
                            assert to in sentence
                    stated += 1
            applications += 1
    print(f"{applications} applications, {stated} stated changes hold in JPMML")
    assert stated
