"""Test that tests outside of tests/system/ start no process."""

import ast
import re

from tests.processes import ROOT

TESTS = ROOT / "tests"
# Fixtures, modules and functions with which a test starts a server, a browser or another process.
STARTERS = {
    "chromium", "live_server", "evm", "gunicorn", "private_server", "temporary_database", "subprocess", "Popen",
    "manage", "account_with_key", "run_python",
}  # fmt: skip
SUSPECT = re.compile(rf"\b({'|'.join(STARTERS)}|tests\.system)\b")


def in_process():
    """Yield the files whose tests `make test` runs, and the names that they use and import."""
    for file in sorted(TESTS.rglob("*.py")):
        inner = file.relative_to(TESTS)
        if inner.parts[0] in {"system", "bench"} or not (file.name.startswith("test_") or file.name == "conftest.py"):
            continue
        text, names = file.read_text(), set()
        if not SUSPECT.search(text):  # Parsing takes most of the time.
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.arg(arg=name) | ast.Name(id=name) | ast.alias(name=name) | ast.ImportFrom(module=name):
                    names.add(name or "")
        yield str(inner), names


def test_tests_outside_of_tests_system_start_no_process():
    starting = {
        file: starters
        for file, names in in_process()
        if (starters := {name for name in names if name in STARTERS or name.startswith("tests.system")})
    }
    assert starting == {}
