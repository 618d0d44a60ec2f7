"""Declare withdrawals over HTTP while libfaketime sets the clock: `python -m tests.system.credit.declaring NUMBER`.

It prints a line of JSON: the number of agreements, and the responses that differ from an independent computation.
"""

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import django

CLOCK = "FAKETIME_TIMESTAMP_FILE"


def set_clock(moment):
    Path(os.environ[CLOCK]).write_text(f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}")
    assert datetime.now(UTC) == moment, "libfaketime does not set the clock"


def declared_at(application, moment):
    """Declare the withdrawal over HTTP at a given time; return the response status."""
    from tests.api import client_of
    from tests.credit.eu.test_contract_withdrawal import declare

    set_clock(moment)
    answer = declare(client_of(application.consumer), application)
    assert answer.status_code in {200, 400}, answer.content
    if answer.status_code == 400:
        assert answer.json()["code"] == "E3019", answer.content
    return answer.status_code


def main(number):
    django.setup()
    from django.db import transaction
    from django.test.utils import setup_test_environment

    from tests.credit.eu.agreements import COUNTRIES, SECOND, START, conclude, moments_of
    from tests.credit.eu.test_contract_withdrawal import concluded

    setup_test_environment()
    set_clock(START)
    application, chance, wrong = concluded(at=START), Random(50), []
    for at in range(number):
        country, moments = (
            COUNTRIES[at % 3],
            tuple(None if moment is None else moment.replace(microsecond=0) for moment in moments_of(chance)),
        )
        end = conclude(application, country, moments)
        application.save()
        rejected = [] if end is None else [declared_at(application, end)]
        with transaction.atomic():
            in_time = moments[0] + timedelta(days=900) if end is None else end - SECOND
            answers = [*rejected, declared_at(application, in_time)]
            transaction.set_rollback(True)
        expected = [200] if end is None else [400, 200]
        if answers != expected:
            wrong.append([country, *map(str, moments), answers])
    print(json.dumps({"agreements": number, "wrong": wrong}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
