"""Random agreements, and the exact end of their withdrawal period from a separate computation."""

from datetime import UTC, datetime, timedelta

from django.db import transaction

from config.core.lifecycle import Actor
from credit.core.applicants import Applicants
from credit.core.errors import WithdrawalOver
from credit.terms import withdrawals
from tests.credit.eu.test_contract_withdrawal import PERSON
from tests.credit.test_withdrawal_period import second_end

COUNTRIES = ("DE", "ES", "PT")  # The periods end in the time zones of Berlin, the Canaries, and the Azores.
START, DAYS = datetime(2026, 11, 20, 12, tzinfo=UTC), 400
SECOND = timedelta(seconds=1)


def moments_of(chance):
    """Return when an agreement was concluded, when its information was complete, and when the right was stated."""
    concluded = START + timedelta(seconds=chance.randrange(DAYS * 86_400))
    late = concluded + timedelta(seconds=chance.randrange(60 * 86_400))
    complete = chance.choice([concluded, late, None])
    notified_at = chance.choice([concluded, concluded, complete or concluded, None])
    return concluded, complete, notified_at


def conclude(application, country, moments):
    """Give an application's agreement these moments and a borrower in the country; return the end of its period."""
    concluded, complete, notified_at = moments
    application.accepted_at, application.complete_since, application.told_of_right_at = concluded, complete, notified_at
    address = {**PERSON["address"], "country": country}
    application.applicants = Applicants.of([{**PERSON, "address": address}])
    application.updated_at = concluded
    return second_end(country, concluded, complete, notified_at)


def is_accepted(application, now):
    """Return whether a declaration at a moment is accepted."""
    try:
        with transaction.atomic():
            withdrawals.declare(str(application.pk), actor=Actor(user=application.consumer, credential="jwt"), now=now)
    except WithdrawalOver:
        return False
    return True
