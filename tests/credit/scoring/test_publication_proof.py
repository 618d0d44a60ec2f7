"""A published version in a real ledger, over HTTP, checked by others."""

import json

import pytest
from django.core.management import CommandError

from credit.models import DecisionAnchor
from ledger.keys import signer
from tests.credit.scoring.support import make_model, make_version
from tests.credit.test_application_proof import anchor, decided, ledger  # noqa: F401  fixtures
from tests.ledger import foreign


@pytest.fixture
def published(committed, settings, ledger, user):  # noqa: F811
    """A published champion that is not in the ledger yet."""
    settings.CHAIN_URL = ledger
    return make_version(make_model(user), role="champion")


def test_a_publication_is_anchored_and_its_proof_kept(published):
    assert anchor() == {"anchored": 1, "failed": 0}
    assert anchor() == {"anchored": 0, "failed": 0}
    row = DecisionAnchor.objects.get()
    assert json.loads(row.record)["definition_sha256"] == published.definition_sha256
    assert row.proof["hash"] == row.record_sha256
    leaf = bytes.fromhex(row.proof["leaf_hash"])
    assert foreign.accepts_proof_file(row.proof_file, leaf, signer().verifier.vkey)


def test_decisions_and_publications_are_anchored_together(decided, user):  # noqa: F811
    make_version(make_model(user), role="champion")
    assert anchor() == {"anchored": 2, "failed": 0}
    assert {row.report_type for row in DecisionAnchor.objects.all()} == {
        "application_decision", "scoring_model_version",
    }  # fmt: skip


def test_a_ledger_that_cannot_be_reached_is_tried_again_later(published, settings):
    settings.CHAIN_URL = "http://127.0.0.1:9"
    with pytest.raises(CommandError):
        anchor()
    row = DecisionAnchor.objects.get()
    assert (row.publication.version_id, row.attempts, row.last_error) == (published.pk, 1, "connect")
