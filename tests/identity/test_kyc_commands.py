"""What `prune` does with verifications, `stage_bank_accounts`, and the settings of the provider."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from identity.models import BankItem
from staging.models import StagedItem
from tests.identity.banking import age, play, row_of, start, statuses_of

ROOT = Path(__file__).resolve().parents[2]


def run(name):
    """Return what a command prints as JSON."""
    out = StringIO()
    call_command(name, "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def test_what_nobody_took_up_expires(api, stranger_api, user):
    overdue, played = start(api), start(stranger_api)
    play(played, "pass")
    for shown in (overdue, played):
        age(shown["verification_id"], expires_at=timedelta(hours=25))
    assert run("prune")["verifications_expired"] == 1
    assert run("prune")["verifications_expired"] == 0
    assert (row_of(overdue).status, row_of(played).status) == ("expired", "verified")
    assert statuses_of(user) == ["requires_input", "expired"]
    assert row_of(overdue).history.get().credential == "command:prune"


def test_accounts_that_could_not_be_read_are_staged_later(api, user):
    body = {"user_id": str(user.pk), "public_token": "public-sandbox-login-required-1"}
    answer = api.send("/bankdata/exchange", body).json()
    assert (answer["linked"], answer["staged_item_ids"]) == (True, [])
    assert run("stage_bank_accounts") == {"items": 1, "staged": 0}
    api.read(f"/bankdata/accounts/{user.pk}")  # answers with a link token, which mends the sandbox's item
    assert run("stage_bank_accounts") == {"items": 1, "staged": 1}
    assert run("stage_bank_accounts") == {"items": 0, "staged": 0}
    assert StagedItem.objects.filter(user=user, kind="bank_account").count() == 3
    assert BankItem.objects.get().accounts_staged_at is not None


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"OPEN_BANKING": "other"}, "OPEN_BANKING"),
        ({"OPEN_BANKING": "plaid"}, "PLAID_BASE_URL is missing"),
        ({"OPEN_BANKING": "plaid", "PLAID_BASE_URL": "https://p.example"}, "PLAID_CLIENT_ID is missing"),
        (
            {"OPEN_BANKING": "plaid", "PLAID_BASE_URL": "https://p.example", "PLAID_CLIENT_ID": "c"},
            "PLAID_SECRET is missing",
        ),
        ({"PLAID_BASE_URL": "p.example"}, "PLAID_BASE_URL"),
        ({"PLAID_COUNTRY_CODES": "US, Canada"}, "PLAID_COUNTRY_CODES"),
    ],
)
def test_a_provider_without_what_it_needs_stops_the_process(tmp_path, environment, said):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PLAID_", "OPEN_BANKING"))}
    done = subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        env={**clean, "VAR_DIR": str(tmp_path), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert said in done.stderr.splitlines()[-1]
