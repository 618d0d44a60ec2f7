"""Test that a scorecard's certificate equals an enumeration, and that unexplained declines are rejected."""

import json
from hashlib import sha256
from itertools import combinations, product
from random import Random

import pytest

from config.core.json_text import canonical_json
from credit.anchoring.verify_decision import verify
from credit.core.card import Card
from credit.core.reasons import key_of
from credit.scoring.certificate import certificate_of
from tests.api import assert_error, client_of
from tests.credit.scoring.bundles import KEY, RECORD_KEYS, bundle, recorded
from tests.credit.scoring.cards import definition
from tests.credit.scoring.making import make_model, make_version
from tests.credit.scoring.pairs import card as random_card
from tests.credit.scoring.pairs import with_rules
from tests.factories import UserFactory
from tests.properties import share_of

VERSIONS = "/scoring/models/{}/versions"


def enumerated(card):
    """Compute the certificate's counts from the definition, combination by combination."""
    declines = without = number = 0
    totals, seen = set(), {key_of(knockout["reason"]) for knockout in card.get("knockouts", [])}
    low, high = card.get("range", (-(10**12), 10**12))
    for bins in product(*(scored["bins"] for scored in card["characteristics"])):
        number += 1
        total = min(max(card["base_points"] + sum(choice["points"] for choice in bins), low), high)
        totals.add(total)
        reached = next(each["outcome"] for each in card["outcomes"] if "from" not in each or each["from"] <= total)
        losses = {}
        for scored, choice in zip(card["characteristics"], bins, strict=True):
            key = key_of(scored["reason"])
            losses[key] = losses.get(key, 0) + scored["baseline"] - choice["points"]
        reasons = [key for key in sorted(losses, key=lambda key: -losses[key]) if losses[key] > 0][:4]
        declines += reached == "decline"
        without += reached == "decline" and not reasons
        if reached != "approve":
            seen |= set(reasons)
    return number, declines, without, seen, min(totals), max(totals)


def ordered_of(card):
    """Return the inputs with ranges, and whether the points of their known bins are monotone, by all pairs of bins."""
    ordered = []
    for scored in card["characteristics"]:
        points = [choice["points"] for choice in scored["bins"] if not choice.get("missing")]
        turns = [(b - a) * (d - c) for a, b in combinations(points, 2) for c, d in combinations(points, 2)]
        if any("below" in choice for choice in scored["bins"]):
            ordered.append({"name": scored["input"], "is_monotone": all(turn >= 0 for turn in turns)})
    return ordered


def small_card(chance):
    while True:
        card = with_rules(chance, random_card(chance)[0])
        sizes = [len(scored["bins"]) for scored in card["characteristics"]]
        if len(sizes) <= 6 and max(sizes) <= 8:
            return card


def test_certificate_of_a_random_scorecard_equals_the_enumeration_of_all_inputs():
    chance = Random(20261129)
    for _ in range(share_of(400)):
        card = small_card(chance)
        certificate = certificate_of(Card.of(card))
        number, declines, without, seen, low, high = enumerated(card)
        assert certificate["combinations"] == number
        assert certificate["ordered"] == ordered_of(card)
        assert (certificate["declines"], certificate["declines_without_reason"]) == (declines, without), card
        assert {key_of_full(reason) for reason in certificate["reasons"] if reason["can_occur"]} == seen, card
        assert (certificate["total_min"], certificate["total_max"]) == (low, high)


def key_of_full(reason):
    return reason["text"] if reason["code"] == "other" else reason["code"]


def test_scorecard_certificate_serializes_counts_above_2_to_the_53_as_strings():
    bins = [{"missing": True, "points": 0}, *({"below": n, "points": n} for n in range(1, 9)), {"points": 9}]
    names = [f"f{number}" for number in range(40)]
    card = definition(
        inputs=[{"name": name, "from": f"application_data.{name}", "type": "number"} for name in names],
        characteristics=[
            {"name": name, "input": name, "reason": "income_insufficient", "baseline": 9, "bins": bins}
            for name in names
        ],
        knockouts=[],
    )
    certificate = certificate_of(Card.of(card))
    assert certificate["combinations"] == str(10**40)
    assert certificate["declines_without_reason"] == 0
    assert all(ordered["is_monotone"] for ordered in certificate["ordered"])


def without_reasons():
    card = definition()
    for scored in card["characteristics"]:
        scored["baseline"] = -1
    return card


@pytest.mark.django_db
class TestPublication:
    def test_scorecard_that_can_decline_without_a_reason_cannot_be_published(self, api, user):
        version = make_version(make_model(user), characteristics=without_reasons()["characteristics"])
        place = f"{VERSIONS.format(version.model_id)}/1"
        error = assert_error(api.send(f"{place}/publish", {"role": "champion"}), 400, "E1001")
        assert "have no reason" in error["message"]
        version.refresh_from_db()
        assert (version.status, version.certificate) == ("draft", None)
        certificate = api.read(f"{place}/certificate")
        assert certificate.status_code == 200, certificate.content
        assert certificate.json()["declines_without_reason"] > 0

    def test_published_version_has_a_certificate(self, api, user):
        version = make_version(make_model(user))
        place = f"{VERSIONS.format(version.model_id)}/1"
        before = api.read(f"{place}/certificate").json()
        assert api.send(f"{place}/publish", {"role": "champion"}).status_code == 200
        version.refresh_from_db()
        assert api.read(f"{place}/certificate").json() == before == version.certificate
        assert (before["combinations"], before["declines_without_reason"]) == (64, 0)
        assert (before["total_min"], before["total_max"]) == (520, 740)
        assert before["ordered"] == [
            {"name": "income", "is_monotone": True}, {"name": "debt_to_income", "is_monotone": True}
        ]  # fmt: skip
        assert before["inputs"][3] == {
            "name": "identity_verified", "facts": ["identity.verified"], "categories": ["identity"]
        }  # fmt: skip
        record = json.loads(version.publication_record(version.history.get()))
        assert record["certificate_sha256"] == version.certificate_sha256
        stranger = client_of(UserFactory())
        for part in ("certificate", "instructions"):
            assert_error(stranger.read(f"{place}/{part}"), 404, "E4011")


@pytest.mark.django_db
class TestInstructionsForUse:
    ABOUT = {
        "intended_use": "Loans up to 10,000 USD", "not_for": "Mortgages", "data": "Loans of 2024",
        "categories": ["application_data", "identity"], "limits": "", "human_review": "A referral is decided by people",
        "accuracy": "AUC 0.71",
    }  # fmt: skip

    def test_instructions_of_a_model_version_contain_the_authors_text(self, api, user):
        place = VERSIONS.format(make_version(make_model(user)).model_id)
        assert api.send(place, {"definition": definition(), "about": self.ABOUT}).json()["about"] == self.ABOUT
        shown = api.read(f"{place}/2/instructions").json()
        assert {**self.ABOUT, "version": 2}.items() <= shown.items()
        without = api.read(f"{place}/1/instructions").json()
        assert (without["intended_use"], without["categories"]) == ("", [])

    def test_malformed_instructions_of_a_model_version_are_rejected(self, api, user):
        place = VERSIONS.format(make_model(user).pk)
        for about in ([], {"categories": ["health"]}, {"limits": 1}, {"data": "a" * 4001}):
            assert_error(api.send(place, {"definition": definition(), "about": about}), 400, "E1001")
        about = {**self.ABOUT, "categories": ["bank"]}  # The card reads other categories.
        error = assert_error(api.send(place, {"definition": definition(), "about": about}), 400, "E1001")
        assert error["details"][0]["field"] == "/definition/inputs/0"


class TestVerify:
    def certified(self, **changes):
        text = canonical_json({**certificate_of(Card.of(definition())), **changes}).decode()
        whole = recorded(
            bundle(record_version=4), certificate_sha256=sha256(text.encode()).hexdigest(), record_version=4
        )
        return {**whole, "certificate": text}

    def steps(self, given):
        steps = verify(json.dumps(given).encode(), KEY, [RECORD_KEYS])
        return steps[-1].name, steps[-1].state

    def test_decision_verification_fails_for_an_altered_missing_foreign_or_unrecorded_certificate(self):
        whole = self.certified()
        assert self.steps(whole) == ("signature", "ok")
        altered = whole["certificate"].replace('"declines":', '"declines" :')
        changed = [{**whole, "certificate": text} for text in (altered, whole["certificate"].replace("64", "65"), None)]
        others = ({"total_min": 0}, {"combinations": 63}, {"declines_without_reason": 1})
        unrecorded = {**bundle(), "certificate": "{}"}
        for wrong in (*changed, *(self.certified(**changes) for changes in others), unrecorded):
            assert self.steps(wrong) == ("certificate", "FAIL")
