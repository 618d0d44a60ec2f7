"""Upgrades from every stored version keep all data, fail no request, and report wrong migrations.

UPGRADE_ROWS sets the number of applications under traffic. From 1,000,000, the test also checks that no request waits
for a table for 1 s.
"""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import clusters
from tests.bench.faults.cluster import cluster
from tests.bench.proxy import nginx_program
from tests.processes import ROOT, create_database
from tests.system.upgrade import kept, traffic

ROWS = int(os.environ.get("UPGRADE_ROWS", "2000"))
MANY, PATIENCE_SECONDS = 1_000_000, 1.0
WRONG = {
    # The expected messages of the migration linter, and of the comparison in `judge`.
    "dropped_column": ("DROPPING columns", "claims_claim.notes is missing, and the previous version reads it"),
    "renamed_column": ("RENAMING columns", "claims_claim.notes is missing, and the previous version reads it"),
    "lost_default": ("NOT NULL constraint", "claims_claim.language has no default, and the previous version does not"),
    "rewrite_under_lock": ("", "claims_claim was rewritten"),
    "changed_value": ("", "claims_claim.visibility has other values, and no migration declares the change"),
}
versions = pytest.mark.parametrize("version", kept.versions(), ids=lambda version: version.number)
pytestmark = pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())


def judge(address, var, version, *, program=(), **more):
    """Migrate a database; return the findings. Raises RuntimeError if a verification fails."""
    newest = version == kept.versions()[-1]
    env = {
        "PATH": os.environ["PATH"], "DATABASE_URL": address, "VAR_DIR": str(var), "LEDGER_ORIGIN": "kept.invalid",
        "DJANGO_SETTINGS_MODULE": "tests.system.upgrade.settings", **more,
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.system.upgrade.judge", *(["--serves-before"] if newest else []), *program]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout.strip().rpartition("\n")[2])


def with_wrong_migration(folder, name):
    """Create a folder with the migrations of `claims` and a wrong migration after them; return its path."""
    package = folder / name / "tried"
    shutil.copytree(ROOT / "claims" / "migrations", package, ignore=shutil.ignore_patterns("__pycache__"))
    last = max(file.stem for file in package.glob("[0-9]*.py"))
    wrong = (Path(__file__).parent / "wrong" / f"{name}.py").read_text().replace("PREDECESSOR", last)
    (package / f"{int(last[:4]) + 1:04}_{name}.py").write_text(wrong)
    return str(package.parent)


# Only an upgrade from the newest stored version reports every wrong migration.
@pytest.mark.parametrize(
    ("version", "wrong_migrations"),
    [
        *(pytest.param(version, (), id=version.number) for version in kept.versions()[:-1]),
        pytest.param(kept.versions()[-1], ("lost_default", "changed_value"), id=f"{kept.versions()[-1].number}-two"),
        pytest.param(
            kept.versions()[-1], tuple(WRONG), marks=pytest.mark.nightly, id=f"{kept.versions()[-1].number}-all"
        ),
    ],
)
def test_upgrade_on_postgresql_preserves_data_and_reports_incompatible_migrations(version, wrong_migrations, tmp_path):
    version.unpack("postgresql", tmp_path)
    with cluster(fsync="off") as server, ThreadPoolExecutor(2) as two:
        version.restore(server.address())
        judged = {}
        for name in ("right", *wrong_migrations):
            create_database(server.address(role="postgres"), name, template="platform")
            wrong = {"WRONG_MIGRATIONS": with_wrong_migration(tmp_path, name)} if name in WRONG else {}
            program = ["--lint"] if wrong else ["--evidence", str(tmp_path)]
            judged[name] = two.submit(
                judge, server.address(name, "postgres"), tmp_path, version, program=program, **wrong
            )
        right = judged.pop("right").result()
        assert (right["changes"], right["verified"]) == ([], traffic.EVIDENCE)
        for name in wrong_migrations:
            lint, change = WRONG[name]
            findings = judged[name].result()
            print(name, findings["linter"], findings["changes"])
            assert [line for line in findings["changes"] if line.startswith(change)], name
            assert len([line for line in findings["linter"] if lint in line]) == bool(lint), name


@versions
def test_upgrade_on_sqlite_preserves_all_data(version, tmp_path):
    version.unpack("sqlite", tmp_path)
    version.write_sqlite(tmp_path / "kept.sqlite3")
    findings = judge(f"sqlite:///{tmp_path}/kept.sqlite3", tmp_path, version, program=["--evidence", str(tmp_path)])
    assert (findings["changes"], findings["verified"]) == ([], traffic.EVIDENCE)


@pytest.mark.skipif(nginx_program() is None, reason="needs nginx")
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("version", kept.versions()[-1:], ids=lambda version: version.number)
def test_no_request_fails_during_an_upgrade_and_a_rollback(version, tmp_path):
    result = traffic.upgrade(version, tmp_path, rows=ROWS)
    print(result)
    assert result.requests > 0
    assert result.failed == []
    assert result.lost == 0
    assert result.changed == 0
    if ROWS >= MANY:
        assert result.longest_wait < PATIENCE_SECONDS
        assert max(result.locked_seconds.values(), default=0.0) < PATIENCE_SECONDS
