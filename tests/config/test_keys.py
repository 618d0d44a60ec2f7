"""What docs/design/scaling.md says about keys: no sequence on the hot tables, and every table that has one is named."""

from django.apps import apps
from django.db import models

from tests.documents import page

OURS = {"api", "webhooks", "identity", "credit", "claims", "payments", "staging", "backoffice"}
# Written by nearly every request that writes anything.
HOT = {
    "credit_application", "credit_applicationhistory", "credit_applicationrevision", "credit_decisionanchor",
    "claims_claim", "claims_claimhistory", "staging_stageditem", "staging_approval", "webhooks_event",
    "webhooks_delivery", "api_idempotencyrecord", "identity_refreshtoken", "identity_usedsignature",
    "payments_paymentattempt", "payments_cryptopayment", "payments_wallet",
}  # fmt: skip


def numbered():
    """The tables of ours whose key the database counts up."""
    own = [model for model in apps.get_models() if model._meta.app_label in OURS]
    return {model._meta.db_table for model in own if isinstance(model._meta.pk, models.AutoField)}


def test_no_hot_table_takes_its_keys_from_a_sequence():
    known = {model._meta.db_table for model in apps.get_models()}
    assert known >= HOT
    assert not HOT & numbered()


def test_the_document_names_every_table_that_does():
    scaling = page("design/scaling.md")
    named = {table for table in numbered() if f"`{table}`" in scaling}
    assert numbered() == named
