"""Run management commands in tests."""

import io
import json

from django.core.management import call_command


def run_json(name, *arguments, **options):
    """Run a command with `--json`; return the object on its last line."""
    out = io.StringIO()
    call_command(name, *arguments, as_json=True, stdout=out, **options)
    return json.loads(out.getvalue().splitlines()[-1])
