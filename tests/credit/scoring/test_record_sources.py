"""Test the sources of facts in a decision record of version 4, and their openings."""

import json
import os
from base64 import b64encode
from random import Random
from types import SimpleNamespace

import pytest

from config.core.json_text import canonical_json
from credit.anchoring.fact_hashes import facts_in_record, openings
from credit.anchoring.verify_decision import FAIL, verify
from credit.core.card import Card
from credit.scoring.scores import sources_of
from tests.credit.scoring import sourced
from tests.credit.scoring.bundles import NONCE, bundle, record_of

DECISIONS = int(os.environ.get("DECISIONS", "50"))


def scored(card, facts):
    """Return a stored score of facts whose sources follow from their names."""
    known = {
        name: SimpleNamespace(source={"application_data": "applicant"}.get(name.split(".")[0], name.split(".")[0]),
                              as_of_text="2026-01-31")
        for name in facts
    }  # fmt: skip
    kept = SimpleNamespace(values=lambda: facts, nonce=b64encode(NONCE).decode())
    return SimpleNamespace(facts_if_kept=kept, sources=sources_of(Card.of(card), facts, known))


def bundled(card, facts):
    score = scored(card, facts)
    valid_bundle = bundle(card, facts, proven=False, record_version=4, share=["bank"], automated=False)
    record = text({**json.loads(valid_bundle["record"]), "facts": facts_in_record(score)})
    return {
        **valid_bundle,
        "record": record,
        "signature": None,
        "facts_opening": canonical_json(openings(score)).decode(),
    }


def steps(made):
    return {step.name: step for step in verify(json.dumps(made).encode())}


def test_decisions_of_a_verified_scorecard_list_every_fact_source_and_use_no_claims():
    card, chance = sourced.card(verified=True), Random(44)
    for _ in range(DECISIONS):
        facts = {**sourced.facts(chance), "scored_on": "2026-01-31"}
        created = bundled(card, facts)
        result = steps(created)
        assert FAIL not in {step.state for step in result.values()}, result
        named = json.loads(created["record"])["facts"]
        assert {fact["name"] for fact in named} <= {sourced.INCOME, sourced.SPENDING}
        assert all(fact["source"] == "bank" and facts[fact["name"]] is not None for fact in named)
        other = {name: 1 if name.startswith("application_data") else value for name, value in facts.items()}
        results = [(record["total"], record["outcome"]) for record in (record_of(card, facts), record_of(card, other))]
        assert results[0] == results[1]


FACTS = {
    sourced.INCOME: 320_000, sourced.SPENDING: 200_000, sourced.CLAIMED: 700_000,
    "application_data.monthly_debt_cents": 10_000, "scored_on": "2026-01-31",
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), [
    (lambda facts, _: facts[0].update(source="bank"), "can't come from 'bank'"),
    (lambda _, opened: opened[sourced.INCOME].update(value=320_001), "does not match its hash"),
    (lambda _, opened: opened.update({"bank.linked": opened[sourced.INCOME]}), "must be in the record"),
])  # fmt: skip
def test_decision_verification_fails_for_a_forged_fact_source_or_value(change, why):
    created = bundled(sourced.card(), FACTS)
    record, opened = json.loads(created["record"]), json.loads(created["facts_opening"])
    change(record["facts"], opened)
    sources = steps({**created, "record": text(record), "facts_opening": text(opened)})["sources"]
    assert (sources.state, why in sources.detail) == (FAIL, True), sources


def test_decision_record_with_a_corrected_claim_passes_verification():
    created = bundled(sourced.card(), FACTS)
    record = json.loads(created["record"])
    record["facts"][0]["source"] = "corrected"
    sources = steps({**created, "record": text(record)})["sources"]
    assert sources.detail == "3 facts from bank, corrected; 3 open"


def test_decision_verification_fails_for_a_claim_in_the_record_of_a_verified_scorecard():
    created = bundled(sourced.card(), FACTS)
    verified = sourced.card(verified=True)
    theirs = bundled(verified, FACTS)
    record = {**json.loads(theirs["record"]), "facts": json.loads(created["record"])["facts"]}
    sources = steps({**theirs, "record": text(record), "facts_opening": created["facts_opening"]})["sources"]
    assert (sources.state, "reads no claims" in sources.detail) == (FAIL, True), sources


def test_single_fact_of_a_decision_record_can_be_disclosed_separately():
    created = bundled(sourced.card(), FACTS)
    alone = {sourced.INCOME: json.loads(created["facts_opening"])[sourced.INCOME]}
    result = steps({**created, "facts": None, "nonce": None, "facts_opening": text(alone)})
    assert result["sources"].detail == "3 facts from applicant, bank; 1 open"
    assert FAIL not in {step.state for step in result.values()}


def text(value):
    return canonical_json(value).decode()
