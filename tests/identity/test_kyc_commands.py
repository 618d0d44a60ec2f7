"""What `prune` does with verifications, `stage_bank_accounts`, and the settings of the provider."""

import json
from datetime import timedelta
from io import StringIO

from django.core.management import call_command

from identity.models import BankItem
from staging.models import StagedItem
from tests.identity.banking import age, play, row_of, start, statuses_of


def run(name):
    """Return what a command prints as JSON."""
    out = StringIO()
    call_command(name, "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def test_an_unstarted_verification_expires(api, stranger_api, user):
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
    assert run("stage_bank_accounts") == {"items": 1, "staged": 0, "not_removed": 0, "failed": 0}
    api.read(f"/bankdata/accounts/{user.pk}")  # answers with a link token, which mends the sandbox's item
    assert run("stage_bank_accounts") == {"items": 1, "staged": 1, "not_removed": 0, "failed": 0}
    assert run("stage_bank_accounts") == {"items": 0, "staged": 0, "not_removed": 0, "failed": 0}
    assert StagedItem.objects.filter(user=user, kind="bank_account").count() == 3
    assert BankItem.objects.get().accounts_staged_at is not None
