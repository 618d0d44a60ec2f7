"""The patterns of a scorecard's schema, read by the validator that fuzzes the interface."""

import json
import re

import pytest

from credit.scoring import definition as definitions


def test_other_validators_read_the_patterns_of_the_schema():
    """Rust has other regular expressions than Python; what fuzzes the interface reads them with those."""
    rust = pytest.importorskip("jsonschema_rs")
    for pattern in set(re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', json.dumps(definitions.SCHEMA))):
        validator = rust.Draft202012Validator({"pattern": json.loads(f'"{pattern}"')})
        assert validator.is_valid("0.25")
        assert not validator.is_valid("0.25\n")
