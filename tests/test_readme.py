"""README names everything that an operator can set or call."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from config.api.metrics import Scrape

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
OURS = {"config", "identity", "credit", "claims", "payments", "staging", "ledger"}


def variables():
    """Every variable that settings and gunicorn read."""
    text = "".join((ROOT / "config" / name).read_text() for name in ("settings.py", "gunicorn.py", "supervisor.py"))
    found = set(re.findall(r'environment\.\w+\(\s*"([A-Z_]+)"', text))
    return sorted(found | set(re.findall(r'(?:environ\.get|_port)\("([A-Z_]+)"', text)))


@pytest.mark.parametrize("name", variables())
def test_every_variable_is_explained(name):
    assert f"`{name}`" in README


def test_every_metric_is_explained(db, tmp_path):
    text = Scrape(tmp_path).text().decode()
    families = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert len(families) >= 20
    assert not {name for name in families if f"`{name.removesuffix('_oldest_seconds')}" not in README}


def test_every_command_is_named():
    apps = {name: str(getattr(app, "name", app)).partition(".")[0] for name, app in get_commands().items()}
    ours = {name for name, app in apps.items() if app in OURS}
    assert len(ours) >= 20
    assert not {name for name in ours if f"`{name}" not in README}
