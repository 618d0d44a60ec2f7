"""Fixtures for the tests of credit."""

import pytest

from credit.models import ProviderMember
from tests.api import client_of
from tests.credit.document_support import with_documents
from tests.credit.support import make_reviewer
from tests.credit.terms.lending import listed
from tests.factories import ProviderFactory, UserFactory


@pytest.fixture
def reviewed(settings):
    """Set the review policy `reviewed`."""
    settings.REVIEW_POLICY = "reviewed"


@pytest.fixture
def application(user):
    """Return an application in `pending_documents`."""
    return with_documents(user)


@pytest.fixture
def offer(db):
    """Return an offer with terms, listed by a lender."""
    return listed()


@pytest.fixture
def provider(user):
    """Return a lender that `user` owns."""
    return ProviderFactory(id="700", owner=user)


@pytest.fixture
def member(db):
    """Return a member of lender 700, which the factory's applications name."""
    account = UserFactory()
    ProviderMember.objects.create(provider=ProviderFactory(id="700"), user=account)
    return account


@pytest.fixture
def reviewer(db):
    """Return a reviewer of the platform."""
    return make_reviewer(username="rita")


@pytest.fixture
def reviewers_api(reviewer):
    """Return an API client of the reviewer."""
    return client_of(reviewer)
