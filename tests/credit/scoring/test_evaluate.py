"""Test the evaluation of a model version with given facts, the fact catalog, and the definition schema."""

import json

import pytest
from jsonschema import Draft202012Validator

from credit.models import ModelVersion, Score
from credit.scoring.definition import SCHEMA
from tests.api import assert_error, client_of
from tests.credit.scoring.cards import DEFINITION, GOOD, POOR, definition
from tests.credit.scoring.making import join, make_model, make_version
from tests.test_openapi import COMMITTED


@pytest.fixture
def version(user):
    return make_version(make_model(user))


def path_of(version):
    return f"/scoring/models/{version.model_id}/versions/{version.number}/evaluate"


@pytest.fixture
def path(version):
    return path_of(version)


@pytest.mark.django_db
class TestEvaluate:
    def test_evaluation_with_a_total_above_the_threshold_approves(self, api, path):
        response = api.send(path, {"facts": GOOD})
        assert response.status_code == 200, response.content
        assert response.json() == {
            "total": 740, "outcome": "approve", "segment": "prime", "missing": [], "changes": [], "reasons": [],
            "points": [
                {"characteristic": "income", "bin": 3, "points": 120, "baseline": 120},
                {"characteristic": "debt to income", "bin": 1, "points": 80, "baseline": 80},
                {"characteristic": "housing", "bin": 1, "points": 40, "baseline": 40},
            ],
        }  # fmt: skip

    def test_evaluation_with_a_total_below_the_threshold_declines(self, api, path):
        body = api.send(path, {"facts": POOR}).json()
        assert (body["total"], body["outcome"], body["segment"]) == (550, "decline", None)
        assert body["reasons"] == [
            {"code": "income_insufficient", "text": "Income insufficient for amount of credit requested"},
            {"code": "obligations_excessive", "text": "Excessive obligations in relation to income"},
            {"code": "residence_short", "text": "Length of residence"},
        ]
        assert body["changes"][0] == {
            "changes": [
                {"characteristic": "debt to income", "input": "debt_to_income", "from_bin": 3, "to_bin": 2,
                 "points": 35},
            ],
            "outcome": "refer",
        }  # fmt: skip

    def test_evaluation_response_uses_the_lenders_text_of_a_reason(self, api, user):
        card = definition()
        card["characteristics"][0]["reason"] = {"code": "other", "text": "Income below our minimum"}
        version = make_version(make_model(user), characteristics=card["characteristics"])
        assert api.send(path_of(version), {"facts": POOR}).json()["reasons"][0] == {
            "code": "other", "text": "Income below our minimum",
        }  # fmt: skip

    def test_evaluation_treats_absent_and_null_facts_as_missing(self, api, path):
        nothing = api.send(path, {"facts": {}}).json()
        assert nothing["missing"] == ["income", "debt_to_income", "housing", "identity_verified"]
        assert api.send(path, {"facts": dict.fromkeys(GOOD)}).json() == nothing

    def test_unused_facts_do_not_change_the_evaluation(self, api, path):
        more = {**GOOD, "bank.linked": True, "application_data.pets": "cat"}
        assert api.send(path, {"facts": more}).json() == api.send(path, {"facts": GOOD}).json()

    def test_evaluation_date_is_today_by_default(self, api, user):
        card = definition()
        card["inputs"][0] = {"name": "income", "months_since": "application_data.employed_since"}
        card["characteristics"][0]["bins"] = [
            {"missing": True, "points": 0}, {"below": 12, "points": 20}, {"points": 120},
        ]  # fmt: skip
        version = make_version(make_model(user), inputs=card["inputs"], characteristics=card["characteristics"])

        def bin_on(day):
            facts = {"application_data.employed_since": "2024-01-31"} | ({"scored_on": day} if day else {})
            return api.send(path_of(version), {"facts": facts}).json()["points"][0]["bin"]

        assert (bin_on("2025-01-30"), bin_on("2025-01-31"), bin_on(None)) == (1, 2, 2)

    def test_evaluation_rejects_facts_with_an_invalid_name_or_type(self, api, path):
        for facts in (
            {"nothing": 1}, {"identity.verified ": True}, {"application_data": {}}, {"application_data.": 1},
            {"application_data.a b": 1}, {"identity.verified": 1}, {"identity.verified": "true"},
            {"bank.accounts_balance_cents": "1"}, {"bank.accounts_balance_cents": True},
            {"application_data.housing": ["own"]}, {"application_data.housing": {"a": 1}}, {"scored_on": "today"},
            {"scored_on": 20250131}, {"scored_on": "2025-02-30"}, {"application_data.housing": "x" * 1_001},
            {f"application_data.f{number}": number for number in range(501)},
        ):  # fmt: skip
            error = assert_error(api.send(path, {"facts": facts}), 400, "E1001")
            assert error["details"][0]["field"] == "facts"

    def test_member_can_evaluate_a_model_version_in_any_status_without_storing_a_score(self, version, path):
        member = client_of(join(version.model.provider))
        for status in ("draft", "published", "retired"):
            ModelVersion.objects.filter(pk=version.pk).update(status=status)
            assert member.send(path, {"facts": POOR}).status_code == 200
        assert not Score.objects.exists()


class TestSchema:
    @pytest.mark.django_db
    def test_scorecard_definition_schema_is_public(self, anonymous):
        response = anonymous.read("/scoring/definition-schema")
        assert response.json() == SCHEMA
        assert response.headers["Cache-Control"] == "public, max-age=300"

    def test_openapi_document_contains_the_scorecard_definition_schema(self):
        document = json.loads(COMMITTED.read_text())
        body = {"$ref": "#/components/schemas/VersionRequest", "components": document["components"]}
        judge = Draft202012Validator(body)
        assert judge.is_valid({"definition": DEFINITION, "note": ""})
        assert not judge.is_valid({"definition": definition(base_points="0")})
        assert not judge.is_valid({"definition": definition(characteristics=[{}])})
