"""Create back office staff accounts, each with a logged-in Django client."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from tests.factories import UserFactory


def staff_of(*groups, **options):
    """Return a member of staff in these groups."""
    person = UserFactory(is_staff=True, **options)
    person.groups.set(Group.objects.filter(name__in=groups))
    return person


def backoffice_client(person, **options):
    """Return a client that is logged in as `person`."""
    client = Client(**options)
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def reviewer(db):
    return staff_of("Reviewer", username="rita")


@pytest.fixture
def reviewers_client(reviewer):
    return backoffice_client(reviewer)


@pytest.fixture
def supports_client(db):
    return backoffice_client(staff_of("Support", username="sam"))


@pytest.fixture
def operations_client(db):
    return backoffice_client(staff_of("Operations", username="omar"))


@pytest.fixture
def superuser(db):
    return UserFactory(is_staff=True, is_superuser=True, username="boss")


@pytest.fixture
def superusers_client(superuser):
    return backoffice_client(superuser)
