"""reasonsmith checks the exported evidence of random scorecards and decisions, and finds planted faults.

`REASONSMITH_CARDS=100` sets the number of scorecards. Each has ten decisions.
"""

import json
import os
import shutil
from random import Random

import pytest
from django.db import transaction

from config.core.errors import ApiError
from credit.core.reasons import faults_of
from credit.models import ApplicationHistory, Notice
from credit.notices import services
from credit.review.automatic import decide_scored
from tests.credit.notices.world import World
from tests.credit.scoring import pairs
from tests.credit.scoring.making import make_model, make_version
from tests.credit.scoring.test_export_evidence import export, rows
from tests.system.credit.scoring.evidence import nested, offer_of
from tests.system.credit.scoring.reasonsmith_checks import WHY_NOT, Auditor

pytestmark = [
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT), pytest.mark.nightly, pytest.mark.django_db,
    pytest.mark.timeout(0),
]  # fmt: skip
CARDS = int(os.environ.get("REASONSMITH_CARDS", "10"))
DECISIONS_PER_CARD = 10
PACKS = ("ecoa", "eu_ai_act", "gdpr")
PROVED = {
    "ecoa_reg_b_1002_9_a_2_written_statement", "ecoa_reg_b_1002_9_b_2_specific_reasons",
    "ecoa_reg_b_1002_4_a_no_disparate_treatment", "gdpr_art22_3_safeguards_human_intervention",
}  # fmt: skip
OBSERVED = {
    "ecoa_reg_b_1002_9_a_1_timing_of_notice", "ecoa_reg_b_1002_9_a_2_written_statement",
    "ecoa_reg_b_1002_9_b_2_specific_reasons", "eu_ai_act_art12_1_automatic_logging",
    "eu_ai_act_art12_2_traceability_monitoring", "eu_ai_act_art13_1_transparency_deployers",
    "eu_ai_act_art13_2_instructions_for_use", "gdpr_art22_3_safeguards_human_intervention",
    "gdpr_recital71_meaningful_explanation",
}  # fmt: skip
# Each of these duties requires evidence that the platform does not have. The value describes the evidence.
UNATTAINABLE = {
    "ecoa_reg_b_1002_9_b_2_principal_reasons_complete": "an inference artifact; a scorecard is exact",
    "ecoa_reg_b_1002_9_c_2_incompleteness_notice_runs_out": "decisions have no notice of incompleteness",
    "gdpr_art22_1_automated_decision_prohibition": "the legal basis of Article 22(2)",
    "gdpr_art22_1_no_prohibited_decision_for_any_input": "the legal basis of Article 22(2)",
    "gdpr_recital71_error_risk_minimised": "the margin of an approximation; a scorecard is exact",
}


@pytest.fixture(scope="module")
def auditor():
    with Auditor() as started:
        yield started


def published(chance):
    """Publish a random scorecard, and return its version with rows of facts."""
    while True:
        card, samples = pairs.card(chance, reasons=[code for code in pairs.CODES if isinstance(code, str)])
        for scored in card["characteristics"]:
            scored["baseline"] = max(choice["points"] for choice in scored["bins"])
        try:
            rules = {"knockouts": [], "segments": [], "range": [-10_000, 10_000]}
            with transaction.atomic():
                version = make_version(make_model(), role="champion", **{**card, **rules})
        except ApiError:
            continue  # the platform rejects scorecards that can decline without a reason
        return version, [facts for facts, _ in pairs.rows_of(chance, samples)]


class NoValidSample(Exception):
    """No sample of a scorecard has values of the types that an application requires."""


def submit(world, samples, chance):
    """Submit an application with a random sample. Try another sample if the values have a wrong type."""
    for sample in chance.sample(samples, len(samples)):
        application = world.application
        application.application_data = {**nested(sample), "amount_cents": 500_000}
        application.save()
        try:
            return world.move(0, "submitted", by=world.consumer)
        except ApiError:
            continue
    raise NoValidSample


def decide(world, samples, chance):
    """Decide an application by score or as a reviewer, and issue and deliver its notice within 30 days."""
    submit(world, samples, chance)
    decide_scored(now=world.at(0.1))
    if world.application.status == "submitted":
        score, day = world.application.decision_score, chance.uniform(1, 20)
        world.move(day, "under_review")
        reasons = [] if faults_of(score.reasons, has_report=False) else score.reasons
        terms, why = {"amount_cents": 500_000, "rate_percent": 9.9}, "The payslip shows another income."
        if reasons and chance.random() < 0.7:
            world.move(day, "rejected", metadata={"reasons": reasons[:4]}, reason=why)
        elif chance.random() < 0.5:
            world.move(day, "rejected", metadata={"reasons": ["income_insufficient"]}, reason=why)
        else:
            world.move(day, "approved", metadata={"terms": terms}, reason=why)
    world.issue(21)
    for notice in Notice.objects.filter(application=world.pk, status="ready"):
        about = {"channel": "post", "at": world.at(25), "reference": "RR", "actor": world.lender, "now": world.at(25)}
        services.record_delivery(str(world.pk), str(notice.pk), **about)


def evidence(chance, folder, settings):
    """Export the evidence of a random version with ten decisions; return the folder."""
    settings.DECISIONING, settings.REVIEW_POLICY = "automatic", "reviewed"
    while True:
        version, samples = published(chance)
        offer = offer_of(version)
        try:
            for _ in range(DECISIONS_PER_CARD):
                decide(World(offer), samples, chance)
        except NoValidSample:
            continue
        export(version, folder)
        return folder


def test_reasonsmith_finds_no_violation_in_evidence_of_random_scorecards(auditor, settings, no_rate_limits, tmp_path):
    chance, result, decisions = Random(1002), {}, 0
    for number in range(CARDS):
        folder = evidence(chance, tmp_path / str(number), settings)
        for pack in PACKS:
            for is_rules in (False, True):
                for duty, verdict in auditor.check(folder, pack, is_rules=is_rules).items():
                    result.setdefault((duty, is_rules), set()).add(verdict)
        decisions += len(rows(folder / "decisions.jsonl"))
    assert decisions == CARDS * DECISIONS_PER_CARD
    assert ApplicationHistory.objects.filter(credential__startswith="model:", status="rejected").exists()
    print(
        f"{CARDS} cards, {decisions} decisions:",
        json.dumps({str(key): sorted(result[key]) for key in result}, indent=1),
    )
    assert not any("violated" in verdict for verdicts in result.values() for verdict in verdicts)
    assert {duty for duty in OBSERVED if result[duty, False] == {"satisfied observed"}} == OBSERVED
    assert {duty for duty in PROVED if result[duty, True] == {"satisfied proved"}} == PROVED
    reached = {duty for (duty, _), verdicts in result.items() if any("satisfied" in verdict for verdict in verdicts)}
    assert {duty for duty, _ in result} - reached == UNATTAINABLE.keys()


def alter(**changes):
    """Return a function that changes fields in the last decision of a log, or with None removes them."""

    def plant(folder):
        file = folder / "decisions.jsonl"
        *others, last = rows(file)
        last = {name: value for name, value in {**last, **changes}.items() if value is not None}
        file.write_text("".join(json.dumps(row) + "\n" for row in [*others, last]))

    return plant


def add_rule(rule):
    """Return a function that adds a rule at the end of the rules."""

    def plant(folder):
        text = (folder / "rules.py").read_text()
        (folder / "rules.py").write_text(text.replace("\nVARIABLES =", f"\nRULES.append({rule!r})\nVARIABLES ="))

    return plant


REASON = "artifact_logs_reason_explanation"
FAULTS = {
    "a notice after 31 days": ("ecoa_reg_b_1002_9_a_1_timing_of_notice", alter(
        artifact_logs_notification_latency_days=31, artifact_logs_counteroffer_not_accepted=0.0)),
    "a notice 91 days after a counteroffer": ("ecoa_reg_b_1002_9_a_1_timing_of_notice", alter(
        artifact_logs_notification_latency_days=91, artifact_logs_counteroffer_not_accepted=1.0)),
    "no reasons": ("ecoa_reg_b_1002_9_a_2_written_statement", alter(**{REASON: None})),
    "a low score as the reason": ("ecoa_reg_b_1002_9_b_2_specific_reasons", alter(**{
        REASON: "You failed to achieve a qualifying score"})),
    "no version of the scorecard": ("eu_ai_act_art12_1_automatic_logging", alter(provenance_model_version=None)),
    "no log of the decision": ("eu_ai_act_art12_2_traceability_monitoring", alter(artifact_logs_event_log=None)),
    "a rule that states internal policies": ("ecoa_reg_b_1002_9_b_2_specific_reasons", add_rule(
        f'if outcome == "decline":\n    {REASON} = "Our internal policies"')),
    "a rule that reads a prohibited ground": ("ecoa_reg_b_1002_4_a_no_disparate_treatment", add_rule(
        'if applicant_prohibited_basis == 1:\n    artifact_logs_decision_record = "decline"')),
}  # fmt: skip


def test_reasonsmith_finds_each_fault_inserted_into_the_evidence(auditor, settings, no_rate_limits, tmp_path):
    chance = Random(8)
    sound = evidence(chance, tmp_path / "sound", settings)
    while "decline" not in (sound / "rules.py").read_text():
        sound = evidence(chance, tmp_path / f"sound-{chance.random()}", settings)
    missed = []
    for number, (name, (duty, plant)) in enumerate(FAULTS.items()):
        folder = shutil.copytree(sound, tmp_path / f"fault-{number}")
        plant(folder)
        is_rules = "rule" in name
        pack = duty.partition("_art")[0] if duty.startswith("eu") else "ecoa"
        before, after = (auditor.check(place, pack, is_rules=is_rules)[duty] for place in (sound, folder))
        print(f"{name}: {before} -> {after}")
        if "violated" not in after or "violated" in before:
            missed.append(name)
    assert (missed, len(FAULTS)) == ([], 8)
