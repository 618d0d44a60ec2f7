"""Test the endpoints that create, list, and return model versions."""

from xml.etree import ElementTree as ET
from xml.sax.saxutils import unescape

import pytest
from django.db import DatabaseError, connection, transaction

from credit.models import ModelVersion
from tests.api import assert_error
from tests.credit.scoring.cards import DEFINITION, definition
from tests.credit.scoring.making import make_model, make_version
from tests.credit.scoring.test_pmml import extension

pytestmark = pytest.mark.django_db


@pytest.fixture
def model(user):
    return make_model(user)


@pytest.fixture
def path(model):
    return f"/scoring/models/{model.pk}/versions"


class TestCreate:
    def test_creating_a_model_version_returns_a_draft(self, api, user, model, path):
        response = api.send(path, {"definition": DEFINITION, "note": "First."})
        assert response.status_code == 201, response.content
        version, body = ModelVersion.objects.get(), response.json()
        assert body == {
            "model_id": model.pk, "number": 1, "status": "draft", "role": "", "note": "First.",
            "definition_sha256": version.definition_sha256, "made_by": str(user.pk), "definition": DEFINITION,
            "published_by": None, "published_at": None, "about": None, "created_at": body["created_at"],
        }  # fmt: skip
        assert api.read(f"{path}/1").json() == body

    def test_scorecard_input_with_a_json_pointer_is_accepted_only_if_the_pointer_is_valid(self, api, path):
        card = definition()
        for number, name in enumerate(('#/a b/~1€"', "#/i\\j", "#/revenu mensuel net", "#/\u6708\u53ce"), start=1):
            card["inputs"][2]["from"] = f"application_data{name}"
            assert api.send(path, {"definition": card}).status_code == 201, name
            written = api.read(f"{path}/{number}", accept="application/xml").content.decode()
            assert f"application_data{name}" in unescape(written, {"&quot;": '"'})
        for name in ("#/x~2", "#/marital status", "#a", "/a", "#", "#/m~", "#/a\nb", "#/a\u202eb", "##/a"):
            card["inputs"][2]["from"] = f"application_data{name}"
            error = assert_error(api.send(path, {"definition": card}), 400, "E1001")
            assert [detail["field"] for detail in error["details"]] == ["/definition/inputs/2/from"]

    def test_model_version_cannot_be_created_from_xml(self, api, model, path):
        make_version(model)
        written = api.read(f"{path}/1", accept="application/xml").content
        assert_error(api.send(path, raw=written, content_type="application/xml"), 415, "E1013")
        assert ModelVersion.objects.count() == 1

    def test_invalid_scorecard_definition_is_rejected_with_json_pointers(self, api, path):
        body = assert_error(api.send(path, {"definition": definition(base_points=1.5, extra=1)}), 400, "E1001")
        assert {detail["field"] for detail in body["details"]} == {"/definition", "/definition/base_points"}
        assert not ModelVersion.objects.exists()

    def test_largest_allowed_numeric_scorecard_is_accepted(self, api, path):
        card = definition(
            inputs=[
                {"name": f"input {number}", "from": f"application_data.{'x' * 50}{number}", "type": "number"}
                for number in range(50)
            ],
            knockouts=[],
            characteristics=[
                {
                    "name": f"characteristic {number}", "input": f"input {number}", "reason": "income_insufficient",
                    "baseline": 0, "bins": [
                        {"missing": True, "points": -1_000_000},
                        *({"below": f"{step:015}.0000000001".lstrip("0"), "points": step} for step in range(1, 49)),
                        {"points": 1_000_000},
                    ],
                }
                for number in range(50)
            ],
        )  # fmt: skip
        assert api.send(path, {"definition": card}).status_code == 201

    def test_scorecard_with_long_lists_of_strings_is_accepted(self, api, path):
        card = definition()
        card["characteristics"][2]["bins"] = [
            {"missing": True, "points": 0},
            *({"in": [f"{step}-{value}" for value in range(200)], "points": step} for step in range(48)),
            {"points": 0},
        ]
        card["knockouts"] = []
        assert api.send(path, {"definition": card}).status_code == 201

    def test_model_version_request_with_too_many_fields_is_rejected(self, api, path):
        assert_error(api.send(path, {"definition": [0] * 50_001}), 400, "E1002")
        assert_error(api.send(path, {"definition": [0] * 49_000}), 400, "E1001")


class TestList:
    def test_model_version_list_is_newest_first_without_definitions(self, api, model, path):
        for role in ("champion", "challenger", None):
            make_version(model, role=role)
        body = api.read(path).json()
        assert [(version["number"], version["status"], version["role"]) for version in body["versions"]] == [
            (3, "draft", ""), (2, "published", "challenger"), (1, "published", "champion"),
        ]  # fmt: skip
        assert (body["total"], body["has_more"]) == (3, False)
        assert all("definition" not in version for version in body["versions"])


class TestRetrieve:
    def test_model_version_is_returned_as_pmml_on_request(self, api, model, path):
        version = make_version(model)
        response = api.read(f"{path}/1", accept="application/xml")
        assert (response.status_code, response.headers["Content-Type"]) == (200, "application/xml")
        root = ET.fromstring(response.content)
        assert (root.tag, root.get("version")) == ("{http://www.dmg.org/PMML-4_4}PMML", "4.4")
        assert root.find(".//{*}Scorecard").get("modelName") == model.name
        assert extension(response.content) == version.definition

    def test_model_version_is_returned_as_json_by_default(self, api, model, path):
        make_version(model)
        for accept in ("application/json", "*/*", "application/json, application/xml;q=0.5", None):
            assert api.read(f"{path}/1", accept=accept).json()["definition"] == DEFINITION
        assert_error(api.read(f"{path}/1", accept="text/html"), 406, "E1014")
        assert_error(api.read(f"{path}/2", accept="application/xml"), 404, "E4011")


def test_database_rejects_changes_of_a_model_version_definition(model):
    version = make_version(model)
    for change in ({"number": 9}, {"definition": {}}, {"definition_sha256": "0" * 64}):
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            ModelVersion.objects.filter(pk=version.pk).update(**change)
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM credit_modelversion")
    assert ModelVersion.objects.filter(pk=version.pk).update(note="Seen again.") == 1
