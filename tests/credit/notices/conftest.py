import pytest

from tests.credit.notices.world import World


@pytest.fixture(autouse=True)
def _reviewed(settings):
    settings.REVIEW_POLICY = "reviewed"
    settings.REPORTS = "off"  # Lenders enter the reports of their decisions.
    settings.NOTICE_CHANNELS = ["portal", "email", "post", "provider"]


@pytest.fixture
def world(db):
    """Return a submitted application: its applicant and its lender have an address."""
    created = World()
    created.submit(0)
    return created
