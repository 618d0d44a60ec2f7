"""Test the patterns of the scorecard schema in the validator that fuzzes the API."""

import json
import re

import pytest

from credit.scoring import definition as definitions


def test_scorecard_definition_schema_patterns_work_in_the_rust_validator():
    """Rust's regular expressions differ from Python's; the API's fuzzer uses Rust's."""
    rust = pytest.importorskip("jsonschema_rs")
    for pattern in set(re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', json.dumps(definitions.SCHEMA))):
        validator = rust.Draft202012Validator({"pattern": json.loads(f'"{pattern}"')})
        assert validator.is_valid("0.25")
        assert not validator.is_valid("0.25\n")
