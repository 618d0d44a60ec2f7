"""Unchanged application schemas of offers in third-party tools: a form renderer (`@rjsf/core`), openapi-typescript.

`npm ci` in this folder installs them; without them the tests skip.
"""

import json
import random
import shutil
from html import unescape
from pathlib import Path

import pytest

from credit.core import profile
from credit.core.applicant_schema import PATHS, REQUIRABLE, schema_of
from tests.credit.requirements.filer import value_for
from tests.credit.requirements.schemas import TERMS, random_schema
from tests.system.clients.test_generated_clients import STRICT, TOOLS, run

HERE = Path(__file__).parent
SCHEMAS = [TERMS, *(random_schema(random.Random(seed)) for seed in range(40))]
APPLICANTS = schema_of(REQUIRABLE)


@pytest.fixture
def folder(tmp_path):
    if not (HERE / "node_modules" / "@rjsf" / "core").exists():
        pytest.skip("needs the tools from npm: run `npm ci` in tests/system/clients")
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    shutil.copy(HERE / "forms.cjs", tmp_path)
    return tmp_path


def drawn(folder, cases):
    """Return the form renderer's result for each pair of a schema and data."""
    (folder / "cases.json").write_text(json.dumps([{"schema": case, "data": data} for case, data in cases]))
    return json.loads(run("node", "forms.cjs", "cases.json", cwd=folder))


def test_a_rendered_form_shows_every_field_and_accepts_valid_data(folder):
    cases = [(schema, value_for(schema)) for schema in SCHEMAS]
    for (schema, _), case in zip(cases, drawn(folder, cases), strict=True):
        assert case["errors"] == []
        assert not case["unsupported"]
        assert set(schema["properties"]) <= {name.partition("-")[0] for name in case["inputs"]}
        text = unescape(case["page"])
        assert all(item["title"] in text for item in schema["properties"].values() if "title" in item)


def test_a_rendered_form_finds_the_same_errors_as_the_api(folder):
    wrong = {"amount_cents": 1, "purpose": "yacht", "monthly_income_cents": -1, "employed_since": "2026-02-30"}
    for name, value in wrong.items():
        data = {"amount_cents": 250_000, "purpose": "car", "monthly_income_cents": 300_000, name: value}
        assert profile.fault(TERMS["properties"][name], value)
        (drawn_card,) = drawn(folder, [(TERMS, data)])
        assert drawn_card["errors"], name


def test_a_rendered_form_has_the_fields_of_applicants(folder):
    (drawn_card,) = drawn(folder, [(APPLICANTS, value_for(APPLICANTS))])
    assert drawn_card["errors"] == []
    assert {f"0_{path.replace('.', '_')}" for path in PATHS} <= set(drawn_card["inputs"])


def test_types_are_generated_from_unchanged_schemas(folder):
    named = {f"Asked{number}": schema for number, schema in enumerate([*SCHEMAS, APPLICANTS])}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "x", "version": "1"},
        "paths": {},
        "components": {"schemas": named},
    }
    (folder / "schemas.json").write_text(json.dumps(document))
    printed = run(TOOLS / "openapi-typescript", "schemas.json", "-o", "schemas.ts", cwd=folder)
    assert "warn" not in printed.lower()
    data = {f"Asked{number}": value_for(schema) for number, schema in enumerate(SCHEMAS)}
    uses = "".join(
        f'export const a{name}: components["schemas"]["{name}"] = {json.dumps(item)};\n' for name, item in data.items()
    )
    (folder / "use.ts").write_text(f'import type {{ components }} from "./schemas";\n{uses}')
    run(TOOLS / "tsc", *STRICT, "use.ts", cwd=folder)
