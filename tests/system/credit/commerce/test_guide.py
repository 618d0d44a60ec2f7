"""docs/guides/commerce.md: its blocks run unchanged, and their output matches the page."""

import json
import os
import re
import subprocess
from io import StringIO

import pytest
from django.core.management import call_command

from tests.documents import page
from tests.processes import PATIENCE_SECONDS

GUIDE = page("guides/commerce.md")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE, flags=re.DOTALL | re.MULTILINE)
CUT = "…"


@pytest.fixture
def running(committed, bookless, live_server, settings, tmp_path):
    """A server with the demo's data; yields the variables that the guide uses."""
    settings.VAR_DIR = tmp_path / "var"  # the blocks read it relative to their working directory
    settings.VAR_DIR.mkdir()
    settings.BASE_URL = f"{live_server.url}/v1"
    out = StringIO()
    call_command("seed_demo", as_json=True, stdout=out)
    return {"BASE": settings.BASE_URL, "KEY": json.loads(out.getvalue().splitlines()[-1])["api_key"]}


def differences(shown, printed, path="$"):
    """Yield the differences between output and page; extra fields are allowed, and `…` matches any text."""
    if isinstance(shown, dict) and isinstance(printed, dict):
        for name, value in shown.items():
            yield from differences(value, printed.get(name), f"{path}.{name}")
    elif isinstance(shown, list) and isinstance(printed, list) and len(shown) == len(printed):
        for place, (item, other) in enumerate(zip(shown, printed, strict=True)):
            yield from differences(item, other, f"{path}[{place}]")
    elif isinstance(shown, str) and isinstance(printed, str) and shown.endswith(CUT):
        if not printed.startswith(shown.removesuffix(CUT)):
            yield path
    elif shown != printed:
        yield path


def test_every_call_of_the_commerce_guide_returns_the_shown_response(running, tmp_path):
    calls = [block for language, block in BLOCKS if language == "sh"]
    shown = [json.loads(block) for language, block in BLOCKS if language == "json"]
    assert len(calls) == len(shown) >= 5
    # One shell for all blocks, as for a reader who pastes one after another.
    script = "\necho; echo --\n".join(calls)
    command, env = ["bash", "-euo", "pipefail", "-c", script], {**os.environ, **running}
    pasted = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert pasted.returncode == 0, pasted.stderr
    printed = [json.loads(part) for part in pasted.stdout.split("\n--\n")]
    for expected, item in zip(shown, printed, strict=True):
        assert list(differences(expected, item)) == [], item


def test_the_program_of_the_commerce_guide_reads_every_response(running, monkeypatch, capsys):
    (program,) = [block for language, block in BLOCKS if language == "python"]
    for name, value in running.items():
        monkeypatch.setenv(name, value)
    exec(program, {})
    assert "Harbour personal loan from 6.9 % a year" in capsys.readouterr().out
