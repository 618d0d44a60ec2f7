"""Setup with only Python and make: required packages, and cleanup after a failed setup."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.processes import ROOT, run_python

TOO_OLD = '#!/bin/sh\n[ "$1" != --version ] || echo Python 3.9.2\n[ "$1" = --version ]\n'
# A Python that is new enough, starts to create an environment, and fails.
HALF = (
    '#!/bin/sh\nif [ "$1" = -m ]; then mkdir -p .venv/bin; touch .venv/bin/python; chmod +x .venv/bin/python; '
    f'exit 1; fi\nexec {sys.executable} "$@"\n'
)
# Uses each lazily loaded package, and prints the distributions of all loaded modules.
LOAD_ALL = """
import importlib.metadata as metadata, sys
import django
django.setup()
from django.urls import get_resolver
get_resolver().url_patterns
from eth_keys.datatypes import PrivateKey
from payments.chain.addresses import checksum_address
import payments.chain.transactions
PrivateKey(b"1" * 32).sign_msg(b"").recover_public_key_from_msg(b"")
checksum_address("0x" + "ab" * 20)
owners = metadata.packages_distributions()
print(*{name for module in list(sys.modules) for name in owners.get(module.partition(".")[0], ())})
"""

# Django, Django REST framework, requests, whitenoise, and jsonschema use these packages only if they are installed.
OPTIONAL = {"brotli", "chardet", "jinja2", "markupsafe", "pygments", "rfc3339-validator", "six"}


def normal(name):
    """Return the normalized name of a distribution (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_platform_loads_only_packages_of_requirements_txt(tmp_path):
    done = run_python({"VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}, "-c", LOAD_ALL)
    assert done.returncode == 0, done.stderr
    loaded = {normal(name) for name in done.stdout.split()}
    locked = {
        normal(name)
        for name in re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==", (ROOT / "requirements.txt").read_text(), re.M)
    }
    assert {"django", "eth-hash", "pycryptodome"} <= loaded
    assert loaded - locked - {"pip", "setuptools"} - OPTIONAL == set()


def make(folder, program):
    """Run `make run` in an empty folder with a given Python; return the exit status and the output."""
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "requirements.txt").touch()
    python = folder / "python"
    if program is not None:
        python.write_text(program)
        python.chmod(0o755)
    done = subprocess.run(["make", "run", f"PYTHON={python}"], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("program", "version"), [(TOO_OLD, "Python 3.9.2"), (None, "not to be found")])
def test_make_run_with_an_old_or_missing_python_fails_and_leaves_no_virtual_environment(tmp_path, program, version):
    status, output = make(tmp_path, program)
    assert status == 2
    assert output.splitlines()[0] == (
        f"Python 3.11 or newer is needed, and {tmp_path}/python is {version}: make run PYTHON=python3.11"
    )
    assert not (tmp_path / ".venv").exists()


def test_make_run_removes_the_virtual_environment_of_a_failed_setup(tmp_path):
    status, output = make(tmp_path, HALF)
    assert status == 2
    assert "Creating .venv" in output
    assert not (tmp_path / ".venv").exists()


def test_make_run_removes_the_virtual_environment_of_an_interrupted_setup(tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in (".unfinished", "bin/python", "left"):
        (tmp_path / ".venv" / name).touch(mode=0o755)
    assert make(tmp_path, HALF)[0] == 2
    assert not (tmp_path / ".venv").exists()
