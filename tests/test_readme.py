"""README names everything that an operator can set or call."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

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


def test_every_command_is_named():
    apps = {name: str(getattr(app, "name", app)).partition(".")[0] for name, app in get_commands().items()}
    ours = {name for name, app in apps.items() if app in OURS}
    assert len(ours) >= 20
    assert not {name for name in ours if f"`{name}" not in README}
