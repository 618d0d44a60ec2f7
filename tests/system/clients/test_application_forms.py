"""Third-party tools accept the application schemas of offers: `@rjsf/core`, a form renderer, and openapi-typescript.

`npm ci` in this folder installs the tools. Without them, the tests are skipped.
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


def rendered(folder, cases):
    """Render a form for each pair of a schema and data; return the results."""
    (folder / "cases.json").write_text(json.dumps([{"schema": case, "data": data} for case, data in cases]))
    return json.loads(run("node", "forms.cjs", "cases.json", cwd=folder))


def test_a_form_rendered_from_a_schema_shows_every_field_and_accepts_valid_data(folder):
    cases = [(schema, value_for(schema)) for schema in SCHEMAS]
    for (schema, _), case in zip(cases, rendered(folder, cases), strict=True):
        assert case["errors"] == []
        assert not case["unsupported"]
        assert set(schema["properties"]) <= {name.partition("-")[0] for name in case["inputs"]}
        text = unescape(case["page"])
        assert all(item["title"] in text for item in schema["properties"].values() if "title" in item)


def test_a_form_rendered_from_a_schema_rejects_the_values_that_the_api_rejects(folder):
    wrong = {"amount_cents": 1, "purpose": "yacht", "monthly_income_cents": -1, "employed_since": "2026-02-30"}
    valid = {"amount_cents": 250_000, "purpose": "car", "monthly_income_cents": 300_000}
    forms = rendered(folder, [(TERMS, {**valid, name: value}) for name, value in wrong.items()])
    for (name, value), form in zip(wrong.items(), forms, strict=True):
        assert profile.fault(TERMS["properties"][name], value)
        assert form["errors"], name


def test_a_form_rendered_from_the_applicant_schema_has_all_fields(folder):
    (form,) = rendered(folder, [(APPLICANTS, value_for(APPLICANTS))])
    assert form["errors"] == []
    assert {f"0_{path.replace('.', '_')}" for path in PATHS} <= set(form["inputs"])


def test_typescript_types_of_application_schemas_accept_valid_data(folder):
    schemas = {f"Schema{number}": schema for number, schema in enumerate([*SCHEMAS, APPLICANTS])}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "x", "version": "1"},
        "paths": {},
        "components": {"schemas": schemas},
    }
    (folder / "schemas.json").write_text(json.dumps(document))
    printed = run(TOOLS / "openapi-typescript", "schemas.json", "-o", "schemas.ts", cwd=folder)
    assert "warn" not in printed.lower()
    data = {f"Schema{number}": value_for(schema) for number, schema in enumerate(SCHEMAS)}
    uses = "".join(
        f'export const a{name}: components["schemas"]["{name}"] = {json.dumps(item)};\n' for name, item in data.items()
    )
    (folder / "use.ts").write_text(f'import type {{ components }} from "./schemas";\n{uses}')
    run(TOOLS / "tsc", *STRICT, "use.ts", cwd=folder)
