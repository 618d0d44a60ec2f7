"""The storm over card payments, and a mutant that it must detect. PostgreSQL only."""

import os

import pytest

from tests.databases import own_database_url
from tests.system.payments.card_storm import Storm, violations

pytestmark = [pytest.mark.usefixtures("needs_postgresql"), pytest.mark.timeout(1_200)]
KEYS = int(os.environ.get("STORM_KEYS", "120"))


def test_no_card_is_charged_twice_or_without_a_record(tmp_path, template):
    figures = Storm(own_database_url(), tmp_path, template, keys=KEYS).run()
    print(figures)
    assert violations(figures) == {}
    assert figures["kills"] >= KEYS / 60
    assert figures["stops"] >= 1
    assert figures["charges"] > KEYS / 2


@pytest.mark.nightly
def test_the_load_test_detects_a_faulty_server(tmp_path, template):
    storm = Storm(own_database_url(), tmp_path, template, keys=40, wsgi="tests.system.payments.mutant")
    assert violations(storm.run()).keys() & {"double charges", "charges without record"}
