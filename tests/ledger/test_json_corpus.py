"""What is sent to service B as JSON and is none: refused, and nothing is anchored."""

import pytest

from ledger.models import Entry
from tests.config import json_corpus
from tests.ledger.conftest import assert_error

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


@pytest.mark.parametrize("path", ["/anchor", "/anchor/batch", "/verify"])
def test_each_malformed_document_is_400_and_leaves_nothing_behind(client, path):
    for body in list(dict.fromkeys(json_corpus.malformed()))[::19]:
        assert_error(client.post(path, body, content_type="application/json"), 400, "E1002")
    assert not Entry.objects.exists()
