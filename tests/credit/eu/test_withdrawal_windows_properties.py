"""Test declarations in the last second of the withdrawal period, and one second later.

`AGREEMENTS=10000` makes that many agreements.
"""

import os
from collections import Counter
from datetime import timedelta
from random import Random

import pytest
from django.db import transaction

from credit.applications.withdrawal_right import describe
from tests.credit.eu.agreements import COUNTRIES, SECOND, conclude, is_accepted, moments_of
from tests.credit.eu.test_contract_withdrawal import concluded

pytestmark = pytest.mark.django_db
AGREEMENTS = int(os.environ.get("AGREEMENTS", "60"))


@pytest.mark.timeout(120 + AGREEMENTS)
def test_withdrawal_declaration_is_accepted_until_the_last_second_of_the_period(no_rate_limits):
    application, chance, seen = concluded(), Random(10_000), Counter()
    for number in range(AGREEMENTS):
        country, moments = COUNTRIES[number % 3], moments_of(chance)
        end = conclude(application, country, moments)
        right = describe(application)
        assert right.period_ends_at == end, (country, moments)
        in_time = moments[0] + timedelta(days=2_000) if end is None else end - SECOND
        assert right.is_open(now=in_time)
        assert end is None or not right.is_open(now=end)
        # A declaration writes rows and mails, so only a few agreements of each country have a declaration.
        if number % 50 < 3:
            with transaction.atomic():
                application.save()
                assert end is None or not is_accepted(application, end), (country, moments)
                assert is_accepted(application, in_time), (country, moments)
                transaction.set_rollback(True)
            seen["declared"] += 1
        seen["endless" if end is None else "missing" if moments[1] is None else "given"] += 1
    print(dict(seen))
    assert set(seen) == {"endless", "missing", "given", "declared"}
