"""Published scorecard versions are anchored in a ledger over HTTP, and third-party code verifies the proof."""

import json

import pytest

from credit.models import DecisionAnchor
from ledger.keys import signer
from tests.credit.scoring.making import make_model, make_version
from tests.ledger import foreign
from tests.system.credit.test_application_proof import anchor, decided, ledger  # noqa: F401  fixtures


@pytest.fixture
def published(committed, settings, ledger, user):
    """A published champion that is not yet anchored."""
    settings.CHAIN_URL = ledger
    return make_version(make_model(user), role="champion")


def test_a_scorecard_publication_is_anchored_once_and_its_proof_is_stored(published):
    assert anchor() == {"anchored": 2, "failed": 0}  # the publication, and the key that signed it
    assert anchor() == {"anchored": 0, "failed": 0}
    row = DecisionAnchor.objects.get(record_key=None)
    assert json.loads(row.record)["definition_sha256"] == published.definition_sha256
    assert row.proof["hash"] == row.record_sha256
    leaf = bytes.fromhex(row.proof["leaf_hash"])
    assert foreign.accepts_proof_file(row.proof_file, leaf, signer().verifier.vkey)


def test_decisions_and_scorecard_publications_are_anchored_in_the_same_run(decided, user):
    make_version(make_model(user), role="champion")
    assert anchor() == {"anchored": 3, "failed": 0}
    assert {row.report_type for row in DecisionAnchor.objects.all()} == {
        "application_decision", "record_key", "scoring_model_version",
    }  # fmt: skip
