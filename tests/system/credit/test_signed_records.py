"""The proof of an anchored decision: signature, opening of the commitment, and anchored signing key."""

import json

from django.test import override_settings

from credit.anchoring.verify_decision import outcome_of, verify
from ledger.keys import signer
from tests.api import ApiClient
from tests.credit.test_record_keys import PATH, verify_signature
from tests.system.credit.test_application_proof import anchor, decided, ledger  # noqa: F401  fixtures


def test_the_proof_of_a_decision_contains_its_signature_its_commitment_opening_and_an_anchored_key(decided, api):
    assert anchor()["anchored"] == 2
    with override_settings(ROOT_URLCONF="config.urls"):
        proof = api.read(f"/applications/{decided.pk}/proof").json()
        bundle = api.read(f"/applications/{decided.pk}/decision-bundle").content
        document = ApiClient().read(PATH).content.decode()
    (key,) = json.loads(document)["keys"]
    verify_signature([key], "application_decision", proof["record"], proof["signature"])
    assert proof["opening"]["user_id"] == str(decided.consumer_id)
    assert proof["opening"]["report_type"] == "application_decision"
    assert key["announcement"]["status"] == "anchored"
    assert key["announcement"]["opening"]["report_type"] == "record_key"
    steps = verify(bundle, signer().verifier.vkey, [document])
    assert outcome_of(steps) == "verified", steps[-1]
