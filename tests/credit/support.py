"""Helpers for the tests of credit."""

from itertools import count

from django.contrib.auth.models import Group

from config.core.lifecycle import Role
from tests.api import ApiClient
from tests.factories import UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.identity.support import issue

# The transition table (from, to, allowed role) is repeated here to check the table in the code.
TABLE = {
    ("draft", "submitted"): Role.OWNER, ("draft", "withdrawn"): Role.OWNER, ("draft", "expired"): Role.SYSTEM,
    ("submitted", "under_review"): Role.REVIEWER, ("submitted", "pending_documents"): Role.REVIEWER,
    ("submitted", "withdrawn"): Role.OWNER, ("submitted", "expired"): Role.SYSTEM,
    ("under_review", "approved"): Role.REVIEWER, ("under_review", "rejected"): Role.REVIEWER,
    ("under_review", "pending_documents"): Role.REVIEWER, ("under_review", "withdrawn"): Role.OWNER,
    ("under_review", "expired"): Role.SYSTEM, ("pending_documents", "under_review"): Role.EITHER,
    ("pending_documents", "rejected"): Role.REVIEWER, ("pending_documents", "withdrawn"): Role.OWNER,
    ("pending_documents", "expired"): Role.SYSTEM, ("approved", "withdrawn"): Role.OWNER,
    ("approved", "expired"): Role.SYSTEM, ("approved", "under_review"): Role.REVIEWER,
    ("rejected", "under_review"): Role.REVIEWER,
}  # fmt: skip
STATUSES = (
    "draft", "submitted", "under_review", "pending_documents", "approved", "rejected", "withdrawn", "expired",
)  # fmt: skip
# Metadata that a rejection requires if reviewers decide.
BECAUSE = {"reasons": ["no_credit_file"]}
EVERY_MOVE = [(start, to) for start in STATUSES for to in STATUSES]


def requestable(status):
    """Return the statuses that a request may set next."""
    return {to for (start, to), role in TABLE.items() if start == status and role is not Role.SYSTEM}


def make_reviewer(**options):
    """Create an account in the group of reviewers."""
    user = UserFactory(**options)
    user.groups.add(Group.objects.get(name="Reviewer"))
    return user


def move(client, application, to, *, updated_by="me", key=None, **members):
    """Request a change of an application's status; return the response."""
    body = {"status": to, "updated_by": updated_by, **members}
    return client.replace(f"/applications/{application.pk}/status", body, key=key)


_numbers = count(1)  # Names of clients are unique.


def app_of(user, *scopes):
    """Return a client of an OAuth app to which the person has granted these scopes."""
    registered = make_client(name=f"Loan helper {next(_numbers)}", scopes=list(scopes))
    body = exchange(code_for(user, registered[0], scope=" ".join(scopes)), *registered).json()
    return ApiClient(bearer=body["access_token"])


def key_of(user, *scopes):
    """Return a client with an API key of the person that is limited to these scopes."""
    return ApiClient(api_key=issue(user, scopes=list(scopes)).key)
