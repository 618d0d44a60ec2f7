"""Database timeouts of a ledger server."""

import json
import os
import subprocess
import sys

from tests.databases import own_database_url
from tests.ledger.conftest import SIGNING_KEY
from tests.processes import ROOT

_PRINT_TIMEOUTS = """
import json, ledger.wsgi
from ledger.models import database
with database().cursor() as cursor:
    cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
    print(json.dumps(cursor.fetchone()))
"""


def test_ledger_database_timeouts_are_25_s_for_statements_and_5_s_for_locks(db, needs_postgresql):
    environment = {name: value for name, value in os.environ.items() if name != "STATEMENT_TIMEOUT_SECONDS"} | {
        "DATABASE_URL": own_database_url(),
        "LEDGER_DATABASE_URL": "",
        "LEDGER_SIGNING_KEY": SIGNING_KEY,
    }
    printed = subprocess.run(
        [sys.executable, "-c", _PRINT_TIMEOUTS], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    assert json.loads(printed.stdout) == ["25s", "5s"]
