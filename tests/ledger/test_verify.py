"""Test how `manage.py verify` detects the kind of a file, and its exit status for a decision bundle."""

import json
import tracemalloc
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from credit.anchoring.verify_decision import FILE_MAX_BYTES
from tests.credit.scoring.bundles import KEY, RECORD_KEYS, bundle, recorded
from tests.credit.scoring.test_verify_decision import NAMES


def verify(file, **options):
    """Run the command; return its exit status, its JSON, and its steps."""
    out, err = StringIO(), StringIO()
    try:
        call_command("verify", str(file), as_json=True, stdout=out, stderr=err, **options)
        status = 0
    except CommandError as error:
        status = error.returncode
    return status, json.loads(out.getvalue().splitlines()[-1]), err.getvalue()


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "bundle.json"
    file.write_text(json.dumps(bundle()))
    return file


@pytest.fixture
def keys(tmp_path):
    """Options with the ledger's key and the platform's keys."""
    file = tmp_path / "record-keys.json"
    file.write_text(RECORD_KEYS)
    return {"ledger_key": KEY, "platform_key": [str(file)]}


def test_verify_command_checks_a_decision_bundle_in_all_steps(file, keys):
    status, shown, steps = verify(file, **keys)
    verified = {"kind": "decision", "verified": True, "outcome": "verified", "failed": None, "not_checked": []}
    assert (status, shown) == (0, {**verified, "ledger_key": KEY})
    assert [line.split()[1].rstrip(":") for line in steps.splitlines()] == NAMES
    status, shown, _ = verify(file)  # The keys are missing.
    assert (status, shown["verified"], shown["outcome"]) == (3, None, "unknown")


def test_verify_command_reports_the_failed_step_for_a_changed_decision(file, keys):
    file.write_text(json.dumps(recorded(bundle(), outcome="approve")))
    with pytest.raises(CommandError, match="The decision does not hold: outcome"):
        call_command("verify", str(file), stdout=StringIO(), stderr=StringIO())
    status, shown, _ = verify(file, **keys)
    assert (status, shown["verified"], shown["outcome"], shown["failed"]) == (1, False, "failed", "outcome")


def test_verify_command_rejects_an_unknown_kind_of_file(tmp_path):
    for content in (b"", b"\xff\xfe", b"hello", b"[]", b"\x1f", b"PK\x03\x04"):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(CommandError, match="a decision bundle, a log with audit lines, or the archive"):
            call_command("verify", str(tmp_path / "file"))


def test_verify_command_rejects_an_option_of_another_file_kind_or_a_proof_without_a_report(tmp_path):
    for content, option, kind in (
        (b"{}", "report", "decision"), (b"{}", "policy", "decision"),
        (b"c2sp.org/tlog-proof@v1\n", "platform_key", "proof"),
        (b"\x1f\x8b", "report", "release"), (b"\x1f\x8b", "platform_key", "release"),
    ):  # fmt: skip
        (tmp_path / "file").write_bytes(content)
        option_value = [str(tmp_path)] if option == "platform_key" else tmp_path
        with pytest.raises(CommandError, match=f"is a {kind}: --{option.replace('_', '-')} does not apply"):
            call_command("verify", str(tmp_path / "file"), **{option: option_value})
    (tmp_path / "file").write_bytes(b"c2sp.org/tlog-proof@v1\n")
    with pytest.raises(CommandError, match="requires its report with --report"):
        call_command("verify", str(tmp_path / "file"))


def test_verify_command_error_for_a_missing_file_contains_the_file_name(tmp_path):
    for name in ("none", "."):
        with pytest.raises(CommandError, match=f"{tmp_path}.*: (No such file|Is a directory)"):
            call_command("verify", str(tmp_path / name))


def test_verify_command_reads_an_oversized_file_only_up_to_the_limit(tmp_path):
    file = tmp_path / "endless"
    with file.open("wb") as sparse:
        sparse.write(b"{")
        sparse.truncate(20 * FILE_MAX_BYTES)
    tracemalloc.start()
    try:
        status, shown, steps = verify(file)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * FILE_MAX_BYTES
    assert (status, shown["failed"]) == (1, "bundle")
    assert "too large" in steps
