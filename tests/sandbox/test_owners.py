"""Which tables are handed over when an account is reset: those that an app declares, and no others."""

import pytest
from django.contrib.auth import get_user_model

from config.core.registration import declared


@pytest.mark.parametrize("table", [one for records in declared("sandbox") for one in records.handed_over])
def test_what_is_declared_refers_to_an_account(table):
    model, owner = table
    assert model._meta.get_field(owner.removesuffix("_id")).related_model is get_user_model()
