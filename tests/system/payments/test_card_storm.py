"""Card payments while servers are killed and the processor fails; requires PostgreSQL."""

import os

import pytest

from tests.databases import own_database_url
from tests.system.payments.card_storm import Storm, violations

pytestmark = [pytest.mark.usefixtures("needs_postgresql"), pytest.mark.timeout(1_200)]
KEYS = int(os.environ.get("STORM_KEYS", "60"))


def test_each_card_charge_is_made_once_and_recorded_although_servers_are_killed(tmp_path, template):
    figures = Storm(own_database_url(), tmp_path, template, keys=KEYS).run()
    print(figures)
    assert violations(figures) == {}
    assert figures["kills"] >= KEYS / 60
    assert figures["stops"] >= 1
    assert figures["charges"] > KEYS / 2


@pytest.mark.nightly
def test_crash_test_of_card_payments_detects_an_incorrect_payment_implementation(tmp_path, template):
    storm = Storm(own_database_url(), tmp_path, template, keys=40, wsgi="tests.system.payments.mutant")
    assert violations(storm.run()).keys() & {"double charges", "charges without record"}
