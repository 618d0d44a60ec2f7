"""Callers that the tests of payments share."""

from datetime import timedelta

import pytest
from django.utils import timezone

from identity import keys
from tests.api import ApiClient


@pytest.fixture
def scoped_api(user):
    """A client whose API key is limited to scopes: payments are not among what it may do."""
    now = timezone.now()
    issued = keys.create_api_key(
        owner=user, name="scoped", scopes=["wallet:read", "offers:read"], now=now, expires_at=now + timedelta(days=60)
    )
    return ApiClient(api_key=issued.key)
