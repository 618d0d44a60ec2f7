"""`manage.py verify_decision`: each step, and an exit status for each outcome."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.credit.scoring.bundles import KEY, RECORD_KEYS, bundle, recorded
from tests.credit.scoring.test_verify_decision import NAMES


class TestCommand:
    def run(self, file, **options):
        out, err = StringIO(), StringIO()
        try:
            call_command("verify_decision", str(file), as_json=True, stdout=out, stderr=err, **options)
            status = 0
        except CommandError as error:
            status = error.returncode
        return status, json.loads(out.getvalue().splitlines()[-1]), err.getvalue()

    @pytest.fixture
    def file(self, tmp_path):
        file = tmp_path / "bundle.json"
        file.write_text(json.dumps(bundle()))
        return file

    @pytest.fixture
    def keys(self, tmp_path):
        file = tmp_path / "record-keys.json"
        file.write_text(RECORD_KEYS)
        return {"ledger_key": KEY, "platform_key": [str(file)]}

    def test_it_says_each_step(self, file, keys):
        status, shown, steps = self.run(file, **keys)
        assert (status, shown) == (0, {"verified": True, "outcome": "verified", "failed": None, "not_checked": []})
        assert [line.split()[1].rstrip(":") for line in steps.splitlines()] == NAMES
        status, shown, _ = self.run(file)
        assert (status, shown["verified"], shown["outcome"]) == (3, None, "unknown")

    def test_what_fails_and_what_is_not_there(self, tmp_path, file, keys):
        with pytest.raises(CommandError, match="No such file"):
            call_command("verify_decision", str(tmp_path / "none"))
        file.write_text(json.dumps(recorded(bundle(), outcome="approve")))
        with pytest.raises(CommandError, match="The decision does not hold: outcome"):
            call_command("verify_decision", str(file), stdout=StringIO(), stderr=StringIO())
        status, shown, _ = self.run(file, **keys)
        assert (status, shown["verified"], shown["outcome"], shown["failed"]) == (1, False, "failed", "outcome")
