"""Making a release in a clone of what is committed here."""

import os
import subprocess
import sys

from tests.processes import ROOT


def clone(folder, *, of=ROOT):
    """Clone what is committed here, or in another clone."""
    subprocess.run(["git", "clone", "--quiet", str(of), str(folder)], check=True)
    return folder


def make(folder, *arguments, **environment):
    """Run `make_release` in a clone; the last line of what it prints is its JSON."""
    env = {"PATH": os.environ["PATH"], "VAR_DIR": f"{folder}-var", **environment}
    command = [sys.executable, "manage.py", "make_release", "--json", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
