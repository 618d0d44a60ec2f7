"""The storm over card payments, and two mutants that must not survive it. PostgreSQL only."""

import os
from urllib.parse import quote

import pytest
from django.db import connection

from tests.payments.card_storm import Storm, violations

pytestmark = [pytest.mark.usefixtures("needs_postgresql"), pytest.mark.timeout(600)]
KEYS = int(os.environ.get("STORM_KEYS", "300"))


def server():
    """The PostgreSQL server that the tests run on."""
    settings = connection.settings_dict
    password = f":{quote(settings['PASSWORD'])}" if settings["PASSWORD"] else ""
    return f"postgres://{settings['USER']}{password}@{settings['HOST']}:{settings['PORT'] or 5432}"


def test_nobody_is_charged_twice_or_without_a_record(tmp_path, template):
    figures = Storm(server(), tmp_path, template, keys=KEYS).run()
    print(figures)
    assert violations(figures) == {}
    assert figures["kills"] >= KEYS / 15
    assert figures["stops"] >= 1
    assert figures["charges"] > KEYS / 2


@pytest.mark.parametrize("mutant", ["look_up_do_store", "every_error_is_final"])
def test_the_storm_finds_a_mutant_out(tmp_path, template, monkeypatch, mutant):
    monkeypatch.setenv("MUTANT", mutant)
    storm = Storm(server(), tmp_path, template, keys=40, wsgi="tests.payments.mutants", deadline_seconds=60.0)
    assert violations(storm.run()).keys() & {"double charges", "charges without record", "told paid, not charged once"}
